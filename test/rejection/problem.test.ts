import t from 'tap'
import { quotaExceeded } from '../../src/rejection/problem.ts'
import { exceeded, hour, minute } from '../support/quota-policies.ts'

t.test('case 1: the problem names what was exceeded as the header fields do, and nothing else', async (t) => {
  t.strictSame(quotaExceeded([minute, exceeded(hour, 12_000)]), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    status: 429,
    detail: 'Quota exceeded: caller-3600. Retry in 12 s.',
    'violated-policies': ['caller-3600'],
  })
})

t.test('when to retry: after the longest delay; never; not to be said', async (t) => {
  const blocked = { name: 'blocked', count: 0, windowSeconds: undefined, remaining: 0, resetMs: null }
  const rows = [
    [[exceeded(minute, 1), exceeded(hour, 12_001)], 'Quota exceeded: caller-60, caller-3600. Retry in 13 s.'],
    [[exceeded(minute, 1)], 'Quota exceeded: caller-60. Retry in 1 s.'],
    [
      [exceeded(minute, null), exceeded(hour, 1)],
      'Quota exceeded: caller-60, caller-3600. It cannot be said when to retry.',
    ],
    [
      [exceeded(hour, 1), exceeded(blocked, null)],
      'Quota exceeded: caller-3600, blocked. Such requests are never admitted.',
    ],
  ] as const
  for (const [policies, detail] of rows) t.equal(quotaExceeded(policies).detail, detail)
})
