import fc from 'fast-check'
import t from 'tap'
import { type PlacedLimit, policyNames } from '../../src/rejection/policy-names.ts'

const timed = (bound: string, windowSeconds: number, category = 'request') => ({
  bound,
  category,
  limit: { windowSeconds },
})
const ofKind = (bound: string, kind: string) => ({ bound, category: 'request', limit: { kind } })

t.test('a limit is named after its bound, and of several by its window or kind', async (t) => {
  const rows: [PlacedLimit[], string[]][] = [
    [[], []],
    [[timed('caller', 60)], ['caller']],
    [
      [timed('caller', 60), timed('caller', 3600)],
      ['caller-60', 'caller-3600'],
    ],
    [
      [timed('caller', 60), timed('caller', 60, 'publish'), timed('caller', 3600, 'publish')],
      ['caller', 'caller-publish-60', 'caller-publish-3600'],
    ],
    [[timed('per-ip', 1, 'publish')], ['per-ip']],
    [
      [timed('n', 60), ofKind('n', 'epoch'), ofKind('n', 'blocked')],
      ['n-60', 'n-epoch', 'n-blocked'],
    ],
    [
      [timed('n', 60), timed('n', 60), timed('n', 60)],
      ['n-60', 'n-60-2', 'n-60-3'],
    ],
    [
      [timed('n', 60), timed('n', 3600), timed('n-60', 1)],
      ['n-60', 'n-3600', 'n-60-2'],
    ],
  ]
  for (const [limits, names] of rows) t.same(policyNames(limits), names)
})

t.test('no name is there twice', async () => {
  const name = fc.constantFrom('a', 'a-60', 'a-60-2', 'caller', 'caller-a')
  const limit = fc.record({
    bound: name,
    category: fc.constantFrom('request', 'a', 'a-60'),
    limit: fc.record({ windowSeconds: fc.constantFrom(60, 2) }),
  })
  fc.assert(
    fc.property(fc.array(limit, { maxLength: 9 }), (limits) => new Set(policyNames(limits)).size === limits.length),
  )
})
