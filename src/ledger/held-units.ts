import type { Fingerprint } from './fingerprint.ts'

/** How many units are held, by fingerprint: only of those of whom some are. */
export class HeldUnits {
  readonly #units = new Map<string, number>()

  /** Of how many fingerprints units are held. */
  get size(): number {
    return this.#units.size
  }

  of(print: Fingerprint, salt: Fingerprint): number {
    return this.#units.size === 0 ? 0 : (this.#units.get(nameOf(print, salt)) ?? 0)
  }

  /** Changes what is held by `units`, which are negative for what is given back. */
  add(print: Fingerprint, salt: Fingerprint, units: number): void {
    const name = nameOf(print, salt)
    const held = (this.#units.get(name) ?? 0) + units
    if (held === 0) this.#units.delete(name)
    else this.#units.set(name, held)
  }
}

function nameOf(print: Fingerprint, salt: Fingerprint): string {
  return `${print.a ^ salt.a},${print.b ^ salt.b},${print.c ^ salt.c},${print.d ^ salt.d}`
}
