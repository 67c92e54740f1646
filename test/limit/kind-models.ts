/**
 * Independent models of the kinds of limit, one function each: every spend is kept in an array, nothing is summed ahead or
 * thrown away, and everything is compared crosswise in BigInt. They answer one question only, whether a spend fits; the
 * contract finds delays, what remains and when all is back by asking it again.
 */
import { latestNs } from '../support/earned-back-model.ts'
import { second } from '../support/limiter-of.ts'

export interface Scale {
  readonly count: number
  readonly windowSeconds: number
}

export interface Model {
  fits(nowNs: bigint, units: bigint, held: bigint): boolean
  record(nowNs: bigint, units: bigint): void
}

interface Spend {
  readonly ns: bigint
  readonly units: bigint
}

const sum = (spends: readonly Spend[]): bigint => spends.reduce((total, { units }) => total + units, 0n)

export const windowNs = ({ windowSeconds }: Scale): bigint => BigInt(windowSeconds) * second

/** RATE-020, with the units held priced beside the spend. */
export function earnedBackModel(scale: Scale): Model {
  const count = BigInt(scale.count)
  const window = windowNs(scale)
  const spends: Spend[] = []
  const earnedBackNs = () =>
    spends.reduce((backNs, { ns, units }) => {
      const fromNs = backNs - ns > 0n ? backNs : ns
      const next = fromNs + (units * window) / count
      return next > latestNs ? latestNs : next
    }, 0n)
  return {
    fits(nowNs, units, held) {
      const owedNs = earnedBackNs() > nowNs ? earnedBackNs() - nowNs : 0n
      return (
        owedNs * count + (units + held) * window <= window * count || (units > count && held === 0n && owedNs === 0n)
      )
    },
    record: (ns, units) => void spends.push({ ns, units }),
  }
}

/** This window's spends, and the previous one's by the part of this window that is to come. */
export function slidingWindowModel(scale: Scale): Model {
  const count = BigInt(scale.count)
  const window = windowNs(scale)
  const spends: Spend[] = []
  return {
    fits(nowNs, units, held) {
      const of = (number: bigint) => sum(spends.filter(({ ns }) => nowNs < latestNs && ns / window === number))
      const leftNs = window - (nowNs % window)
      const number = nowNs / window
      return (of(number) + held + units) * window + of(number - 1n) * leftNs <= count * window
    },
    record: (ns, units) => void spends.push({ ns, units }),
  }
}

/** Every spend counts for one window from its instant on. */
export function slidingLogModel(scale: Scale): Model {
  const spends: Spend[] = []
  return {
    fits(nowNs, units, held) {
      const counting = spends.filter(({ ns }) => nowNs < latestNs && nowNs < ns + windowNs(scale))
      return sum(counting) + held + units <= BigInt(scale.count)
    },
    record: (ns, units) => void spends.push({ ns, units }),
  }
}

/** Epochs that follow one another, each as long as the window. */
export function epochModel(scale: Scale): Model {
  const spends: Spend[] = []
  return {
    fits(nowNs, units, held) {
      const inEpoch = spends.filter(({ ns }) => ns / windowNs(scale) === nowNs / windowNs(scale))
      return sum(inEpoch) + held + units <= BigInt(scale.count)
    },
    record: (ns, units) => void spends.push({ ns, units }),
  }
}

export const blockedModel = (): Model => ({ fits: () => false, record() {} })
