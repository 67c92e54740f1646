import { type Named, namesOf, type Subject } from './subject.ts'

/** No limiter at all: the least that remembering something per caller can cost in JavaScript. */
export function plainMap(named: Named): Subject {
  const counts = new Map<string, number>()
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
  return {
    fill(from, to) {
      for (let i = from; i < to; i++) count(named(i))
    },
    prepare(visits) {
      const names = namesOf(visits, named)
      return (from, to) => {
        for (let i = from; i < to; i++) count(names[i]!)
      }
    },
  }
}
