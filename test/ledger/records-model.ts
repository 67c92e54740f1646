/** When a record is idle in these tests: from a second on, or once the epoch is another. */
export type Due = { readonly second: number } | { readonly epoch: number }

interface Entry {
  due: Due
  /** When it was last recorded in, by a count of all recordings. */
  recorded: number
  held: number
}

/** What `Records` should say of a key. */
export type Found = 'own' | 'blank' | 'shared'

/** What `Records` should remember: a plain Map, all of which is looked through each time. */
export class RecordsModel {
  readonly #keys: number
  readonly #forgets: boolean
  readonly #entries = new Map<string, Entry>()
  #recorded = 0
  second = 0
  epoch = 0

  constructor(keys: number, forgets: boolean) {
    this.#keys = keys
    this.#forgets = forgets
  }

  isIdle(due: Due): boolean {
    return 'second' in due ? due.second <= this.second : due.epoch < this.epoch
  }

  /** The keys that say something, or hold something. */
  tracked(): Map<string, Entry> {
    return new Map([...this.#entries].filter(([, { due, held }]) => held > 0 || !this.isIdle(due)))
  }

  found(key: string): Found {
    const tracked = this.tracked()
    if (tracked.has(key)) return 'own'
    if (tracked.size < this.#keys) return 'blank'
    return this.#forgets && this.victims().length > 0 ? 'blank' : 'shared'
  }

  /** The keys of which one goes for a new one: those that are idle soonest, of those that hold nothing. */
  victims(): string[] {
    const free = [...this.tracked()].filter(([, { held }]) => held === 0)
    const rank = ({ due, recorded }: Entry) => ('second' in due ? due.second : 1e9 + recorded)
    const soonest = Math.min(...free.map(([, entry]) => rank(entry)))
    return free.filter(([, entry]) => rank(entry) === soonest).map(([key]) => key)
  }

  isFull(): boolean {
    return this.tracked().size === this.#keys
  }

  forget(key: string): void {
    this.#entries.delete(key)
  }

  record(key: string, due: Due): void {
    this.#recorded += 1
    Object.assign(this.#entry(key), { due, recorded: this.#recorded })
  }

  hold(key: string, units: number): void {
    this.#entry(key).held += units
  }

  dueOf(key: string): Due {
    return this.#entries.get(key)?.due ?? { second: 0 }
  }

  #entry(key: string): Entry {
    const entry = this.tracked().get(key) ?? { due: { second: 0 }, recorded: 0, held: 0 }
    this.#entries.set(key, entry)
    return entry
  }
}
