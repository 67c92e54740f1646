import type { Fingerprint } from '../../src/ledger/fingerprint.ts'
import type { Instant } from '../../src/limit/instant.ts'

export const nsOf = ({ seconds, nanos }: Instant): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(nanos)

const inOrder = (instants: readonly bigint[]) => instants.toSorted((a, b) => Number(a - b))
export const soonestOf = (instants: readonly bigint[]): bigint => inOrder(instants)[0]!
export const latestOf = (instants: readonly bigint[]): bigint => inOrder(instants).at(-1) ?? 0n

/** The print that `print` XOR `salt` is, and its name. */
const mixed = (print: Fingerprint, salt: Fingerprint): Fingerprint => ({
  a: print.a ^ salt.a,
  b: print.b ^ salt.b,
  c: print.c ^ salt.c,
  d: print.d ^ salt.d,
})
export const idOf = (print: Fingerprint, salt: Fingerprint): string => {
  const { a, b, c, d } = mixed(print, salt)
  return [a, b, c, d].join(' ')
}
const printOf = (id: string): Fingerprint => {
  const [a, b, c, d] = id.split(' ').map(Number) as [number, number, number, number]
  return { a, b, c, d }
}

/** The group of a print that begins with the word `a`: the words are dealt out to the groups evenly, in order. */
export const groupOf = (a: number, groups: number): number =>
  Number((BigInt.asUintN(32, BigInt(a)) * BigInt(groups)) >> 32n)

export interface Record {
  readonly id: string
  readonly print: Fingerprint
  readonly instants: readonly bigint[]
}

/** What a table should remember: a plain Map for each group, from which nothing goes by itself. */
export class TableModel {
  readonly #groups: Map<string, bigint[]>[]

  constructor(groups: number) {
    this.#groups = Array.from({ length: groups }, () => new Map())
  }

  /** Writes the instants of the first limits; those of the others stay, or are 0 when the print is new. */
  write(id: string, isNew: boolean, instants: readonly bigint[]): void {
    const map = this.#mapOf(id)
    const before = (isNew ? undefined : map.get(id)) ?? [0n, 0n, 0n]
    map.set(
      id,
      before.map((ns, i) => instants[i] ?? ns),
    )
  }

  forget(id: string): void {
    this.#mapOf(id).delete(id)
  }

  owes(id: string, nowNs: bigint): boolean {
    return latestOf(this.#mapOf(id).get(id) ?? []) > nowNs
  }

  /** All in the group of a print that are not earned back yet. */
  owing(id: string, nowNs: bigint): Record[] {
    return recordsOf(this.#mapOf(id)).filter(({ instants }) => latestOf(instants) > nowNs)
  }

  all(): Record[] {
    return this.#groups.flatMap(recordsOf)
  }

  #mapOf(id: string): Map<string, bigint[]> {
    return this.#groups[groupOf(printOf(id).a, this.#groups.length)]!
  }
}

const recordsOf = (map: ReadonlyMap<string, bigint[]>): Record[] =>
  [...map].map(([id, instants]) => ({ id, print: printOf(id), instants }))
