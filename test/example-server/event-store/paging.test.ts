import fc from 'fast-check'
import t from 'tap'
import { bounds } from '../../../example-server/event-store/bounds.ts'
import type { Range } from '../../../example-server/event-store/paging.ts'
import { EventStore } from '../../../example-server/event-store/store.ts'
import { candidate } from './harness.ts'

const SUBJECTS = ['/', '/a', '/a/b', '/a/b/c', '/a-b', '/ab', '/a.b', '/z']
const COUNT = 2500

t.test('the pages of a range are its events, each once, in order, and none is long', async (t) => {
  const store = new EventStore()
  t.teardown(() => store.close())
  const subjectOf = (id: number) => SUBJECTS[(id * 7 + (id >> 5)) % SUBJECTS.length]!
  for (let id = 0; id < COUNT; id += 500) {
    const events = Array.from({ length: 500 }, (_, i) =>
      candidate(subjectOf(id + i), { text: 'x'.repeat((id + i) % 97 === 0 ? 40_000 : 10) }),
    )
    store.write(events, [], 0)
  }
  const isWanted = (id: number, { subject, recursive, from, to }: Range) => {
    if (id < from || id > to) return false
    const of = subjectOf(id)
    return of === subject || (recursive && (subject === '/' || of.startsWith(`${subject}/`)))
  }
  const id = fc.integer({ min: 0, max: COUNT + 10 })
  await fc.assert(
    fc.property(
      fc.constantFrom(...SUBJECTS),
      fc.boolean(),
      id,
      id,
      fc.boolean(),
      (subject, recursive, from, to, down) => {
        const range = { subject, recursive, from, to }
        const found: number[] = []
        for (let next: Range | undefined = range; next !== undefined; ) {
          const page = store.page(next, down)
          const bytes = page.rows.reduce((sum, { event }) => sum + event.length, 0)
          if (page.rows.length > bounds.windowEvents || bytes > bounds.pageBytes + 41_000) return false
          found.push(...page.rows.map((row) => row.id))
          next = page.next
        }
        const all = Array.from({ length: COUNT }, (_, i) => i).filter((i) => isWanted(i, range))
        return JSON.stringify(found) === JSON.stringify(down ? all.reverse() : all)
      },
    ),
    { numRuns: 100 },
  )
})
