import t from 'tap'
import { categoryTable, formatCategoryTable } from '../../src/charge/category-table.ts'
import { planRpc } from '../../src/charge/rpc-plan.ts'
import { ChargedService } from '../gen/test/v1/charged_pb.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'

t.test('the category table says in words what the plugin charges', async (t) => {
  const { publish, free } = ChargedService.method
  t.same(categoryTable([planRpc(publish), planRpc(free)]), [
    {
      rpc: 'test.v1.ChargedService/Publish',
      call: '1 request',
      charges: [
        'publish: envelopes (at least 1)',
        'identity_update: envelopes.identity_update',
        'chain_verify: envelopes.identity_update.signatures.erc_6492',
      ],
    },
    { rpc: 'test.v1.ChargedService/Free', call: 'free', charges: [] },
  ])
})

t.test('the category table is printed in aligned columns', async (t) => {
  const plans = [...ChargedService.methods, ...MatrixService.methods].map((method) => planRpc(method))
  t.equal(
    formatCategoryTable(categoryTable(plans)),
    `
test.v1.ChargedService/Publish      1 request  publish: envelopes (at least 1)
                                               identity_update: envelopes.identity_update
                                               chain_verify: envelopes.identity_update.signatures.erc_6492
test.v1.ChargedService/Weighted     1 request  publish: labels (at least 2) × 5
                                               upload: 3
                                               compute: 1
test.v1.ChargedService/Push         1 request  push: by the handler
test.v1.ChargedService/Stream       1 request  publish: envelopes (at least 1, in each message)
                                               upload: 1
test.v1.ChargedService/Free         free
test.v1.ChargedService/NotFree      1 request
test.v1.ChargedService/Undeclared   1 request
test.v1.MatrixService/Unary         1 request  work: items
                                               step: by the handler
test.v1.MatrixService/ServerStream  1 request  work: items
                                               step: by the handler
test.v1.MatrixService/ClientStream  1 request  work: items (in each message)
                                               step: by the handler
test.v1.MatrixService/Bidi          1 request  work: items (in each message)
                                               step: by the handler
test.v1.MatrixService/Undeclared    1 request
test.v1.MatrixService/Free          free
test.v1.MatrixService/Step          1 request  step: by the handler
`.trim(),
  )
})

t.test('the table of no RPCs is empty', async (t) => {
  t.equal(formatCategoryTable(categoryTable([])), '')
})
