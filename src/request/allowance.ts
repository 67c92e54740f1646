import type { FastifyRequest } from 'fastify'
import type { Caller } from '../caller/caller.ts'
import type { Denial } from '../limiter/denial.ts'
import type { ResolvedCaller } from '../limiter/limiter.ts'
import type { Hold, Reservation } from '../limiter/reservation.ts'
import type { Attributes } from '../policy/bound-key.ts'
import type { OpenStream } from '../stream/open-stream.ts'

/**
 * Who a request is from, and what bounds go by beside that: its `user`, `token`, `organisation` and `roles`. Nothing, or a JWT
 * whose claims carry no `sub`: whoever has the client address (RATE-001).
 */
export type Identity =
  | ((Caller | { type: 'jwt'; iss?: string | undefined; sub?: string | undefined }) & Attributes)
  | undefined
  | null

/** Says who a request is from. Throws when the credentials are no good. */
export type Identify = (request: FastifyRequest) => Identity | Promise<Identity>

/** Told of every denial, with the request that is refused for it. */
export type OnDenied = (denial: Denial, request: FastifyRequest) => unknown

/** What a request or a handler can do with the allowance of its caller. */
export interface Allowance {
  /** The caller that is charged. undefined until it is known: in a free RPC or a plain route, before the first spend. */
  readonly caller: ResolvedCaller | undefined

  /**
   * The caller, found out now if it is not known yet, as in a free RPC that shows what is left. Charges nothing.
   * @throws what the option `identify` throws.
   */
  identify(): Promise<ResolvedCaller>

  /**
   * Spends `cost` units of `category`. Resolves when they are admitted.
   * @throws ConnectError `resource_exhausted`, when they are denied: let it through, and the client reads the rejection.
   * RangeError, for a category that is not declared, or a cost that is no whole number from 0 to 2⁵³ − 1. Error, in a
   * handler of an RPC that does not declare the category `by_handler`. Nothing is charged then.
   */
  spend(category: string, cost: number): Promise<void>

  /**
   * Takes the room for `cost` units of `category` now, to be spent or given back later: until then they count in full, and
   * are not earned back. What is still open when the response ends is released.
   * @throws as `spend` does.
   */
  reserve(category: string, cost: number): Promise<Reservation>

  /**
   * Takes one of the places of a hold, until it is released or the response ends, however that ends.
   * @throws ConnectError `resource_exhausted`, when there is none: let it through. RangeError, when the hold is not declared.
   */
  hold(name: string): Promise<Hold>

  /**
   * Opens a stream that holds `topics` topics (0 … 2⁵³ − 1), and pays its rent for the first period; it pays again for each
   * period that it is open, and ends with the response at the latest (RATE-030). Only in the handler of a streaming RPC.
   * @throws ConnectError `resource_exhausted`, when the rent is denied: let it through, and the client reads the
   * rejection. ConnectError `unavailable`, when the server closes or too many streams are open (option `streams.maxOpen`);
   * whatever the request was aborted with, when its client has gone. RangeError, when `topics` or the rent of it is no
   * such number. Error, in the handler of an RPC that does not declare the category of the rent `by_handler`. Nothing is
   * charged then.
   */
  openStream(topics: number): Promise<OpenStream>
}
