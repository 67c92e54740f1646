import { setImmediate } from 'node:timers/promises'
import type { EventRow, Range } from '../paging.ts'
import type { EventStore } from '../store.ts'

/** The pages of a range, one after the other; others get their turn in between. Ends early when `signal` is aborted. */
export async function* pagesOf(
  store: EventStore,
  range: Range,
  signal: AbortSignal,
  descending = false,
): AsyncGenerator<EventRow[]> {
  for (let next: Range | undefined = range; next !== undefined && !signal.aborted; ) {
    const page = store.page(next, descending)
    yield page.rows
    next = page.next
    await setImmediate()
  }
}

/** All events that there are now. */
export function everything(store: EventStore): Range {
  return { subject: '/', recursive: true, from: 0, to: store.newestId() }
}
