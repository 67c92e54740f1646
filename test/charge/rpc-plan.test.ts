import { clone, create, createFileRegistry, type DescMethod, setExtension } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, type MethodOptions, MethodOptionsSchema } from '@bufbuild/protobuf/wkt'
import t from 'tap'
import { Health } from '../../example-server/gen/health/v1/health_pb.ts'
import type { RpcCharges } from '../../src/charge/charge.ts'
import { costOf, planRpc, rpcName } from '../../src/charge/rpc-plan.ts'
import { ChargeSchema, charge, free } from '../../src/gen/allowance/v1/charge_pb.ts'
import { BrokenService, ChargedService } from '../gen/test/v1/charged_pb.ts'
import { EnvelopesRequestSchema } from '../gen/test/v1/envelope_pb.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { errorOf } from './error-of.ts'

const { publish, weighted, push } = ChargedService.method

const identityUpdate = (count: number) => {
  const signatures = Array.from({ length: count }, () => ({ kind: { case: 'erc6492' as const, value: {} } }))
  return { payload: { case: 'identityUpdate' as const, value: { signatures } } }
}

t.test('RATE-011: an RPC costs what its .proto declares, in the order declared', async (t) => {
  const plan = planRpc(publish)
  t.equal(plan.method, publish)
  t.equal(plan.free, false)
  t.same(
    plan.charges.map(({ count, ...rest }) => ({ ...rest, counts: count !== undefined })),
    [
      { category: 'publish', atLeast: 1, units: 1, path: 'envelopes', byHandler: false, counts: true },
      {
        category: 'identity_update',
        atLeast: 0,
        units: 1,
        path: 'envelopes.identity_update',
        byHandler: false,
        counts: true,
      },
      {
        category: 'chain_verify',
        atLeast: 0,
        units: 1,
        path: 'envelopes.identity_update.signatures.erc_6492',
        byHandler: false,
        counts: true,
      },
    ],
  )
  t.ok(Object.isFrozen(plan) && Object.isFrozen(plan.charges) && plan.charges.every(Object.isFrozen))
})

t.test('RATE-011: charges by the handler, fixed charges, free and undeclared RPCs', async (t) => {
  const unspent = { atLeast: 0, count: undefined, path: undefined }
  t.same(planRpc(push).charges, [{ category: 'push', units: 1, byHandler: true, ...unspent }])
  t.same(planRpc(weighted).charges.slice(1), [
    { category: 'upload', units: 3, byHandler: false, ...unspent },
    { category: 'compute', units: 1, byHandler: false, ...unspent },
  ])
  for (const [method, isFree] of [
    [ChargedService.method.free, true],
    [ChargedService.method.notFree, false],
    [ChargedService.method.undeclared, false],
    [MatrixService.method.free, true],
    [MatrixService.method.undeclared, false],
  ] as const) {
    t.equal(planRpc(method).free, isFree, rpcName(method))
    t.same(planRpc(method).charges, [], rpcName(method))
  }
})

t.test('case 13: three envelopes, two of them identical, cost 3 of publish; none cost 1', async (t) => {
  const costs = (...envelopes: number[]) =>
    planRpc(publish).charges.map((planned) =>
      costOf(planned, create(EnvelopesRequestSchema, { envelopes: envelopes.map(identityUpdate) })),
    )
  t.same(costs(2, 2, 0), [3, 3, 4])
  t.same(costs(1), [1, 1, 1])
  t.same(costs(), [1, 0, 0])
})

t.test('a cost is what is counted, or at_least, times units', async (t) => {
  const [perLabel, upload, compute] = planRpc(weighted).charges
  for (const [labels, expected] of [
    [0, 10],
    [1, 10],
    [2, 10],
    [3, 15],
  ] as const) {
    const entries = Array.from({ length: labels }, (_, index) => [index, 'label'])
    const message = create(EnvelopesRequestSchema, { labels: Object.fromEntries(entries) })
    t.equal(costOf(perLabel!, message), expected, `${labels} labels`)
    t.equal(costOf(upload!, message), 3)
    t.equal(costOf(compute!, message), 1)
  }
})

t.test('a cost saturates at 2^53-1', async (t) => {
  const most = 2 ** 32 - 1
  const costAt = (count: number, units: number, atLeast = 0) => {
    const message = create(EnvelopesRequestSchema)
    // no message from the wire holds so many
    message.digests = { length: count } as never
    const [planned] = planRpc(publish, { charges: [{ category: 'x', count: 'digests', atLeast, units }] }).charges
    return costOf(planned!, message)
  }
  t.equal(costAt(2 ** 21 + 1, most), Number.MAX_SAFE_INTEGER, 'one entry above the last exact cost')
  t.equal(costAt(2 ** 21, most), 9_007_199_252_643_840, 'the last exact cost')
  t.equal(costAt(most, most), Number.MAX_SAFE_INTEGER)
  t.equal(costAt(0, most, most), Number.MAX_SAFE_INTEGER)
})

t.test('RATE-011: health is free, unless it is declared otherwise', async (t) => {
  const check = (setOptions: (options: MethodOptions) => void) => {
    const file = clone(FileDescriptorProtoSchema, Health.file.proto)
    for (const method of file.service[0]!.method) {
      method.options = create(MethodOptionsSchema)
      setOptions(method.options)
    }
    return createFileRegistry(file, () => undefined).getService('grpc.health.v1.Health')!.method.check!
  }
  t.equal(planRpc(Health.method.check).free, true)
  t.equal(planRpc(Health.method.watch).free, true)
  t.equal(planRpc(check(() => {})).free, true)
  t.equal(planRpc(check((options) => setExtension(options, free, true))).free, true)
  t.equal(planRpc(check((options) => setExtension(options, free, false))).free, false)
  const charges = [create(ChargeSchema, { category: 'health' })]
  const charged = planRpc(check((options) => setExtension(options, charge, charges)))
  t.equal(charged.free, false)
  t.same(
    charged.charges.map(({ category }) => category),
    ['health'],
  )
  t.equal(planRpc(Health.method.check, { charges: [] }).free, false)
})

t.test('what is declared in TypeScript stands instead of the .proto', async (t) => {
  const declared = planRpc(publish, { charges: [{ category: 'mine', count: 'labels', atLeast: 2, units: 5 }] })
  t.match(declared.charges, {
    length: 1,
    0: { category: 'mine', path: 'labels', atLeast: 2, units: 5, byHandler: false },
  })
  t.equal(costOf(declared.charges[0]!, create(EnvelopesRequestSchema, { labels: { 1: '', 2: '', 3: '' } })), 15)
  t.match(planRpc(publish, { free: true }), { free: true, charges: { length: 0 } })
  t.match(planRpc(publish, { charges: [] }), { free: false, charges: { length: 0 } })
  t.match(planRpc(ChargedService.method.free, { charges: [{ category: 'mine' }] }), {
    free: false,
    charges: { length: 1, 0: { category: 'mine', units: 1, atLeast: 0 } },
  })
  t.match(planRpc(publish, { charges: [{ category: 'push', byHandler: true }] }).charges[0], { byHandler: true })
})

t.test('the same charges in TypeScript give the same plan as in the .proto', async (t) => {
  for (const method of [publish, weighted, push]) {
    const inProto = planRpc(method)
    const charges = inProto.charges.map(({ category, path, atLeast, units, byHandler }) =>
      byHandler ? { category, byHandler } : { category, count: path, atLeast, units },
    )
    const plain = (plan: typeof inProto) => plan.charges.map(({ count, ...rest }) => ({ ...rest, counts: !!count }))
    t.same(plain(planRpc(method, { charges })), plain(inProto), rpcName(method))
  }
})

const envelope = 'the fields of test.v1.Envelope are data, identity_update, group_message, raw'
const inProto: Readonly<Record<string, string>> = {
  freeAndCharged:
    'FreeAndCharged: (allowance.v1.free) = true cannot stand beside (allowance.v1.charge); remove one of them',
  noCategory: 'NoCategory: (allowance.v1.charge)[1].category: must be the name of a category, got ""',
  noUnits: 'NoUnits: (allowance.v1.charge)[0].units: must be a whole number from 1 to 4294967295, got 0',
  atLeastWithoutCount:
    'AtLeastWithoutCount: (allowance.v1.charge)[0].at_least: needs count; for a fixed cost use units',
  handlerCounts:
    'HandlerCounts: (allowance.v1.charge)[0].count: cannot stand beside by_handler: the handler says what its step costs',
  handlerAtLeast:
    'HandlerAtLeast: (allowance.v1.charge)[0].at_least: cannot stand beside by_handler: the handler says what its step costs',
  handlerUnits:
    'HandlerUnits: (allowance.v1.charge)[0].units: cannot stand beside by_handler: the handler says what its step costs',
  badPath: `BadPath: (allowance.v1.charge)[1].count: count path "envelopes.identityUpdate": test.v1.Envelope has no field "identityUpdate" (did you mean "identity_update"?); ${envelope}`,
}

t.test('every RPC of BrokenService has its row', async (t) => {
  t.same(Object.keys(inProto), Object.keys(BrokenService.method))
})
for (const [name, message] of Object.entries(inProto)) {
  t.test(`a mistake in the .proto is refused by name: ${name}`, async (t) => {
    const method = (BrokenService.method as Readonly<Record<string, DescMethod>>)[name]!
    t.equal(errorOf(() => planRpc(method)).message, `test.v1.BrokenService/${message}`)
  })
}

const inTypeScript: readonly (readonly [declared: unknown, message: string])[] = [
  [{ free: true, charges: [{ category: 'a' }] }, 'free: true cannot stand beside charges; remove one of them'],
  [{ charges: [{ category: '' }] }, 'charges[0].category: must be the name of a category, got ""'],
  [{ charges: [{ category: 'a', units: 0 }] }, 'charges[0].units: must be a whole number from 1 to 4294967295, got 0'],
  [
    { charges: [{ category: 'a' }, { category: 'a', units: 1.5 }] },
    'charges[1].units: must be a whole number from 1 to 4294967295, got 1.5',
  ],
  [{ charges: [{ category: 'a', atLeast: 1 }] }, 'charges[0].atLeast: needs count; for a fixed cost use units'],
  [
    { charges: [{ category: 'a', byHandler: true, units: 1 }] },
    'charges[0].units: cannot stand beside byHandler: the handler says what its step costs',
  ],
  [
    { charges: [{ category: 'a', count: 'envelopes.x' }] },
    `charges[0].count: count path "envelopes.x": test.v1.Envelope has no field "x"; ${envelope}`,
  ],
]
for (const [declared, message] of inTypeScript) {
  t.test(`a mistake in TypeScript is refused by name: ${message}`, async (t) => {
    const error = errorOf(() => planRpc(publish, declared as RpcCharges))
    t.equal(error.message, `test.v1.ChargedService/Publish: ${message}`)
  })
}
