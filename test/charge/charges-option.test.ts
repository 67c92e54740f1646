import type { DescMethod } from '@bufbuild/protobuf'
import fc from 'fast-check'
import t from 'tap'
import { parseChargesOption as parse } from '../../src/charge/charges-option.ts'
import { planRpc } from '../../src/charge/rpc-plan.ts'
import { AllowanceOptionsError } from '../../src/policy/options-error.ts'
import { ChargedService } from '../gen/test/v1/charged_pb.ts'
import { MatrixService } from '../gen/test/v1/matrix_pb.ts'
import { errorOf } from './error-of.ts'

const { publish, push, undeclared } = ChargedService.method

const parseChargesOption = (option: unknown) => parse(option, ['publish', 'push']).of

t.test('a category that rateLimits does not know is refused, with its path', async (t) => {
  const option = [
    { method: publish, charges: [{ category: 'push' }, { category: 'pulbish' }] },
    { method: push, charges: [{ category: 'other', byHandler: true }] },
  ]
  const error = errorOf(() => parseChargesOption(option))
  t.equal(error.name, 'AllowanceOptionsError')
  t.equal(
    error.message,
    'charges[0].charges[1].category: must be a category of rateLimits (did you mean "publish"?): publish, push, got "pulbish"\n' +
      'charges[1].charges[0].category: must be a category of rateLimits: publish, push, got "other"',
  )
})

t.test('an entry for what is not registered is refused, with its path', async (t) => {
  const declared = parse(
    [
      { method: publish, free: true },
      { method: push, free: true },
      { service: ChargedService, free: true },
      { service: MatrixService, free: true },
    ],
    [],
  )
  declared.checkRegistered([publish, push, MatrixService.method.unary])
  const allowed = 'is not registered through app.allowance.connect({ routes }); remove the entry, or register it'
  const error = errorOf(() => declared.checkRegistered([{ ...publish } as DescMethod]))
  t.equal(error.name, 'AllowanceOptionsError')
  t.equal(
    error.message,
    `charges[1].method: test.v1.ChargedService/Push ${allowed}\ncharges[3].service: test.v1.MatrixService ${allowed}`,
  )
})

t.test('the option says what an RPC costs, and nothing of the others', async (t) => {
  const charges = [
    { category: 'publish', count: 'envelopes', atLeast: 1, units: 2 },
    { category: 'push', byHandler: true },
  ]
  const declaredFor = parseChargesOption([
    { method: publish, charges },
    { method: push, free: true },
    { method: undeclared, charges: [] },
  ])
  t.same(declaredFor(publish), { charges })
  t.same(declaredFor(push), { free: true })
  t.same(declaredFor(undeclared), { charges: [] })
  t.equal(declaredFor(ChargedService.method.weighted), undefined)
  t.equal(declaredFor(MatrixService.method.undeclared), undefined, 'same name in another service')
  t.equal(planRpc(publish, declaredFor(publish)).charges[0]!.units, 2)
})

t.test('an entry for a service is for each of its methods that has no entry of its own, in any order', async (t) => {
  const whole = { service: ChargedService, free: true }
  const single = { method: publish, charges: [{ category: 'publish' }] }
  for (const option of [
    [whole, single],
    [single, whole],
  ]) {
    const declaredFor = parseChargesOption(option)
    t.same(declaredFor(push), { free: true })
    t.same(declaredFor(publish), { charges: [{ category: 'publish' }] })
    t.equal(declaredFor(MatrixService.method.unary), undefined)
  }
})

t.test('no option, and an empty one, declare nothing', async (t) => {
  t.equal(parseChargesOption(undefined)(publish), undefined)
  t.equal(parseChargesOption([])(publish), undefined)
})

t.test('an RPC is found by its name, whichever copy of the generated code it comes from', async (t) => {
  const declaredFor = parseChargesOption([{ method: publish, free: true }])
  t.same(declaredFor({ ...publish } as DescMethod), { free: true })
})

t.test('the option is copied, and also read in the spelling of the .proto', async (t) => {
  const charge = { category: 'publish', count: 'envelopes', at_least: 1 }
  const declaredFor = parseChargesOption([
    { method: publish, charges: [charge, { category: 'push', by_handler: true }] },
  ])
  charge.at_least = 2
  charge.category = 'other'
  t.match(planRpc(publish, declaredFor(publish)).charges, [
    { category: 'publish', atLeast: 1 },
    { category: 'push', byHandler: true },
  ])
})

const entryKeys = 'method, service, free, charges'
const chargeKeys = 'category, count, atLeast, units, byHandler'
const charged = (charge: unknown) => [
  { method: push, free: true },
  { method: publish, charges: [{ category: 'a' }, charge] },
]

const rows: readonly (readonly [option: unknown, message: string])[] = [
  [null, 'charges: must be a list, got null'],
  [{ free: true }, 'charges: must be a list, got { free: true }'],
  [[publish.name], `charges[0]: must be an object with the keys ${entryKeys}, got "Publish"`],
  [[{ method: push, free: true }, undefined], `charges[1]: is missing; must be an object with the keys ${entryKeys}`],
  [[{}], 'charges[0]: must have exactly one of the keys method, service'],
  [[{ free: true }], 'charges[0]: must have exactly one of the keys method, service'],
  [
    [{ method: publish, service: ChargedService, free: true }],
    'charges[0]: must have exactly one of the keys method, service',
  ],
  [[{ method: publish }], 'charges[0]: must have exactly one of the keys free, charges'],
  [[{ method: publish, free: true, charges: [] }], 'charges[0]: must have exactly one of the keys free, charges'],
  [
    [{ method: publish, fre: true }],
    `charges[0]: unknown key "fre" (did you mean "free"?); known keys: ${entryKeys}\ncharges[0]: must have exactly one of the keys free, charges`,
  ],
  [
    [{ method: 'publish', free: true }],
    'charges[0].method: must be the descriptor of a method, such as ElizaService.method.say, got "publish"',
  ],
  [
    [{ method: null, free: true }],
    'charges[0].method: must be the descriptor of a method, such as ElizaService.method.say, got null',
  ],
  [
    [{ method: { kind: 'service' }, free: true }],
    "charges[0].method: must be the descriptor of a method, such as ElizaService.method.say, got { kind: 'service' }",
  ],
  [
    [{ service: { kind: 'rpc' }, free: true }],
    "charges[0].service: must be the descriptor of a service, such as ElizaService, got { kind: 'rpc' }",
  ],
  [
    [{ method: publish, free: false }],
    'charges[0].free: must be true; an RPC that is not free needs no entry, got false',
  ],
  [
    [{ service: ChargedService, charges: [] }],
    'charges[0].charges: cannot stand beside service: a service can only be free as a whole; give charges method by method',
  ],
  [
    [
      { method: publish, free: true },
      { method: push, free: true },
      { method: publish, charges: [] },
    ],
    'charges[2].method: test.v1.ChargedService/Publish is declared already, at charges[0]; allowed: once',
  ],
  [
    [
      { service: ChargedService, free: true },
      { service: ChargedService, free: true },
    ],
    'charges[1].service: test.v1.ChargedService is declared already, at charges[0]; allowed: once',
  ],
  [
    [{ method: publish, charges: { category: 'a' } }],
    "charges[0].charges: must be a list of charges, got { category: 'a' }",
  ],
  [charged('publish'), `charges[1].charges[1]: must be an object with the keys ${chargeKeys}, got "publish"`],
  [
    charged({ category: 'a', counts: 'x' }),
    `charges[1].charges[1]: unknown key "counts" (did you mean "count"?); known keys: ${chargeKeys}`,
  ],
  [charged({}), 'charges[1].charges[1].category: is missing; must be the name of a category'],
  [charged({ category: '' }), 'charges[1].charges[1].category: must be the name of a category, got ""'],
  [charged({ category: 5 }), 'charges[1].charges[1].category: must be the name of a category, got 5'],
  [
    charged({ category: 'a', units: 0 }),
    'charges[1].charges[1].units: must be a whole number from 1 to 4294967295, got 0',
  ],
  [
    charged({ category: 'a', units: 2 ** 32 }),
    'charges[1].charges[1].units: must be a whole number from 1 to 4294967295, got 4294967296',
  ],
  [
    charged({ category: 'a', units: '1' }),
    'charges[1].charges[1].units: must be a whole number from 1 to 4294967295, got "1"',
  ],
  [
    charged({ category: 'a', count: 'envelopes', atLeast: -1 }),
    'charges[1].charges[1].atLeast: must be a whole number from 0 to 4294967295, got -1',
  ],
  [
    charged({ category: 'a', count: 'envelopes', atLeast: Number.NaN }),
    'charges[1].charges[1].atLeast: must be a whole number from 0 to 4294967295, got NaN',
  ],
  [charged({ category: 'a', at_least: 1 }), 'charges[1].charges[1].at_least: needs count; for a fixed cost use units'],
  [charged({ category: 'a', byHandler: 1 }), 'charges[1].charges[1].byHandler: must be true or false, got 1'],
  [
    charged({ category: 'a', byHandler: true, count: 'envelopes' }),
    'charges[1].charges[1].count: cannot stand beside byHandler: the handler says what its step costs',
  ],
  [
    charged({ category: 'a', byHandler: true, count: 'envelopes', atLeast: 1 }),
    'charges[1].charges[1].count: cannot stand beside byHandler: the handler says what its step costs',
  ],
  [
    charged({ category: 'a', count: 5 }),
    'charges[1].charges[1].count: must be a count path in test.v1.EnvelopesRequest, got 5',
  ],
  [
    charged({ category: 'a', count: 'envelopes.x' }),
    'charges[1].charges[1].count: count path "envelopes.x": test.v1.Envelope has no field "x"; the fields of test.v1.Envelope are data, identity_update, group_message, raw',
  ],
  [
    [
      { method: push, charges: [{}] },
      { method: publish, charges: [{ category: 'a', units: 0 }] },
    ],
    'charges[0].charges[0].category: is missing; must be the name of a category\ncharges[1].charges[0].units: must be a whole number from 1 to 4294967295, got 0',
  ],
]

for (const [option, message] of rows) {
  t.test(`refused by name: ${message.replace('\n', '; ')}`, async (t) => {
    const error = errorOf(() => parseChargesOption(option))
    t.equal(error.message, message)
    t.equal(error.name, 'AllowanceOptionsError')
  })
}

t.test('whatever the option is, it is accepted or refused as an option', async () => {
  const anyCharge = fc.record(
    {
      category: fc.oneof(fc.constant('publish'), fc.anything()),
      count: fc.oneof(fc.constantFrom('envelopes', 'envelopes.', 'note.x'), fc.anything()),
      atLeast: fc.oneof(fc.nat(), fc.anything()),
      units: fc.oneof(fc.nat(), fc.anything()),
      byHandler: fc.oneof(fc.boolean(), fc.anything()),
      other: fc.anything(),
    },
    { requiredKeys: ['category'] },
  )
  const anyEntry = fc.record(
    {
      method: fc.oneof(fc.constantFrom(publish, push, ChargedService), fc.anything()),
      service: fc.oneof(fc.constantFrom(publish, ChargedService), fc.anything()),
      free: fc.oneof(fc.boolean(), fc.anything()),
      charges: fc.oneof(fc.array(fc.oneof(anyCharge, fc.anything())), fc.anything()),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.array(fc.oneof({ weight: 5, arbitrary: anyEntry }, fc.anything())), fc.anything()),
      (option) => {
        try {
          const declaredFor = parseChargesOption(option)
          for (const method of ChargedService.methods) planRpc(method, declaredFor(method))
        } catch (error) {
          if (!(error instanceof AllowanceOptionsError)) throw error
        }
      },
    ),
    { numRuns: 500 },
  )
})
