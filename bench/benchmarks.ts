import { p1 } from './p1-spend.ts'
import { p1b } from './p1b-raw-spend.ts'
import { p2 } from './p2-admitted-rpc.ts'
import { p3 } from './p3-denied-rpc.ts'
import { p4 } from './p4-memory.ts'
import { p5 } from './p5-many-callers.ts'
import { p6 } from './p6-three-bounds.ts'
import { p7 } from './p7-open-streams.ts'
import { p8 } from './p8-package.ts'
import type { Benchmark } from './result.ts'
import type { Sizes } from './sizes.ts'

/** All, in the order in which they run. */
export const benchmarks: readonly Benchmark<Sizes>[] = [p1, p1b, p2, p3, p4, p5, p6, p7, p8]

/** Those that need a load generator. */
export const overHttp: ReadonlySet<string> = new Set([p2.id, p3.id])
