import type { Http2ServerRequest } from 'node:http2'
import { ConnectError } from '@connectrpc/connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type HandlerSpends, undeclaredSpend } from '../charge/handler-spend.ts'
import type { Account } from '../ledger/account.ts'
import type { BoundSet } from '../limiter/bound-set.ts'
import type { Denial, RemainingUnits } from '../limiter/denial.ts'
import type { ResolvedCaller } from '../limiter/limiter.ts'
import { type Hold, Reservation } from '../limiter/reservation.ts'
import type { Identified } from '../policy/bound-key.ts'
import { denialError } from '../rejection/denial-error.ts'
import { asHttpError } from '../rejection/http.ts'
import type { Allowance, OnDenied } from './allowance.ts'
import { type CallerServices, RequestCaller } from './request-caller.ts'
import { ClientGoneError } from './request-origin.ts'
import { onEnd } from './response-end.ts'

/** What all requests of one plugin share. */
export interface AllowanceServices extends CallerServices {
  readonly onDenied: OnDenied | undefined
  readonly domain: string
  /** Whether the limiter has bounds beside the limits of callers. */
  readonly hasBounds: boolean
  /** The reply to a request; null: not known, as in a hook before those of the route. */
  readonly replyTo: (request: FastifyRequest) => FastifyReply | null
}

/** A charge with the number of its category. */
export interface FirstCharge {
  readonly category: number
  readonly cost: number
}

/** What is left under one limit that a request was charged against. */
export interface LeftUnits extends RemainingUnits {
  readonly category: string
  /** Whole ms until more than that fits. null: it cannot be said. */
  readonly moreInMs: number | null
}

/** The allowance of one request. */
export class RequestAllowance implements Omit<Allowance, 'identify' | 'openStream'> {
  readonly #services: AllowanceServices
  readonly #request: FastifyRequest
  readonly #caller: RequestCaller
  #ofRoute: readonly BoundSet[] | undefined
  #denials: WeakMap<ConnectError, Denial> | undefined
  #thrown: WeakSet<ConnectError> | undefined
  #open: Set<Reservation> | undefined
  #awaitsEnd = false
  /** The bounds of the route, beside those of the limiter. */
  boundsOfRoute: (() => readonly BoundSet[]) | undefined
  /** The first charge, when it was made without bounds, until what was charged is asked for. */
  #ofCaller: FirstCharge | undefined
  #charged: Map<number, readonly Account[]> | undefined
  /** To be called when the response of a streaming RPC that opened a stream is at its end, taken by its client or not. */
  onResponseEnd: (() => void) | undefined

  constructor(services: AllowanceServices, request: FastifyRequest) {
    this.#services = services
    this.#request = request
    this.#caller = new RequestCaller(services, request)
  }

  get caller(): ResolvedCaller | undefined {
    return this.#caller.resolved
  }

  /** Works out the caller, once. @throws as `RequestCaller.find` does. */
  identify(): ResolvedCaller | Promise<ResolvedCaller> {
    return this.#caller.resolve()
  }

  /**
   * The first charges of a request, made before anything is done for it. Bounds that need no identity come first, before it is
   * worked out who it is: what they admit is given back when another bound denies, and kept when authentication rejects. All
   * charges are made, or none.
   * @param needsCaller Whether it must be known who it is, whatever the bounds need.
   * @throws as `identify` does.
   */
  chargeFirst(charges: readonly FirstCharge[], needsCaller: boolean): Denial | undefined | Promise<Denial | undefined> {
    const isUnderBounds = this.#services.hasBounds || this.boundsOfRoute !== undefined
    return charges.length === 1 && !isUnderBounds
      ? this.#chargeCaller(charges[0]!, needsCaller)
      : this.#chargeAll(charges, needsCaller)
  }

  /** The same where there are no bounds but the caller's limits: nothing is to be reserved before it is known who it is. */
  #chargeCaller(charge: FirstCharge, needsCaller: boolean): Denial | undefined | Promise<Denial | undefined> {
    if (!needsCaller && !this.#services.limiter.accounts.needsIdentity(charge.category, [])) return undefined
    const found = this.#caller.find()
    if (found instanceof Promise) return found.then((known) => this.#chargeFound(known, charge))
    return this.#chargeFound(found, charge)
  }

  #chargeFound({ caller }: Identified, charge: FirstCharge): Denial | undefined {
    if (this.#isAnswered()) return undefined
    const { limiter } = this.#services
    if (this.#ofCaller === undefined && this.#charged === undefined) this.#ofCaller = charge
    else this.#noteOfCaller(charge)
    const result = limiter.spend(caller, limiter.policy.categories[charge.category]!, charge.cost)
    return result.admitted ? undefined : this.#told(result.denial)
  }

  #chargeAll(charges: readonly FirstCharge[], needsCaller: boolean): Denial | undefined | Promise<Denial | undefined> {
    const { limiter } = this.#services
    const ofRoute = this.#routeBounds()
    const made: Reservation[] = []
    const commit = (): undefined => {
      for (const reservation of made) reservation.commit()
    }
    const release = (): undefined => {
      for (const reservation of made) reservation.release()
    }
    const orRelease = (charge: () => Denial | undefined): Denial | undefined => {
      let denial: Denial | undefined
      try {
        denial = charge()
      } catch (error) {
        release()
        throw error
      }
      if (denial === undefined) return undefined
      release()
      return this.#told(charges.length === 1 ? denial : this.#denialOfAll(denial, charges))
    }
    const denial = orRelease(() => this.#reserveEarly(charges, made, ofRoute))
    if (denial !== undefined) return denial
    if (!needsCaller && !charges.some(({ category }) => limiter.accounts.needsIdentity(category, ofRoute)))
      return commit()

    const rejected = (error: unknown): never => {
      // There is nobody to charge.
      if (error instanceof ClientGoneError) release()
      else commit()
      throw error
    }
    const late = (caller: ResolvedCaller) => {
      if (this.#isAnswered()) return release()
      return orRelease(() => this.#chargeLate(caller, charges, made)) ?? commit()
    }
    let caller: ResolvedCaller | Promise<ResolvedCaller>
    try {
      caller = this.identify()
    } catch (error) {
      return rejected(error)
    }
    if (!(caller instanceof Promise)) return late(caller)
    // Whoever waits no longer has had it looked into who they are. It must not be held for as long as that takes, which may be for ever.
    const reply = this.#reply()
    if (reply !== null && made.some(({ isEmpty }) => !isEmpty)) onEnd(reply, commit)
    return caller.then(late, rejected)
  }

  /** @param rpc The RPC whose handler spends, which must declare it; undefined: outside of a handler. */
  async spend(category: string, cost: number, rpc?: HandlerSpends): Promise<void> {
    await this.#reporting('spend failed', async () => {
      const id = this.#categoryId(category, rpc)
      const accounts = await this.#accounts(id)
      const denial = this.#services.limiter.spendFrom(accounts, id, cost)
      if (denial !== undefined) throw this.rejectionOf(this.#told(denial))
    })
  }

  /** @param rpc As for `spend`. */
  async reserve(category: string, cost: number, rpc?: HandlerSpends): Promise<Reservation> {
    return this.#reporting('reserve failed', async () => {
      const id = this.#categoryId(category, rpc)
      return this.#keep(this.#services.limiter.reserveIn(await this.#accounts(id), id, cost))
    })
  }

  async hold(name: string): Promise<Hold> {
    return this.#reporting('hold failed', async () => this.#keep(await this.tryHold(name)))
  }

  /** Takes a place of a hold, to be given to `keep`. @throws as `hold` does, but for the denial. */
  async tryHold(name: string): Promise<Reservation | Denial> {
    const { limiter } = this.#services
    const caller = limiter.holdNeedsIdentity(name) ? await this.identify() : this.caller
    return limiter.holdFor(name, this.#caller.origin, caller)
  }

  /** Keeps what was reserved until the response ends; returns the denial of what was not. */
  keep(made: Reservation | Denial): Denial | undefined {
    if (!(made instanceof Reservation)) return this.#told(made)
    this.#releaseAtEnd(made)
    return undefined
  }

  /** Logs an error of a handler's own making: Connect hides it from clients, and tells nobody else. */
  report(error: unknown, what: string): void {
    this.#request.log.error({ err: error }, what)
  }

  /** Whether the client has left. One that does before its handler is called aborts no signal. */
  get hasGone(): boolean {
    const { raw } = this.#request
    if ('stream' in raw) return (raw as unknown as Http2ServerRequest).stream.destroyed
    // A request whose body was given up does not know its socket any more.
    return (raw.socket as typeof raw.socket | null)?.destroyed ?? true
  }

  /** Spends in a category by its number. Returns the rejection when it is denied. */
  charge(caller: ResolvedCaller, category: number, cost: number): ConnectError | undefined {
    const denial = this.tryCharge(caller, category, cost, cost)
    return denial && this.rejectionOf(denial)
  }

  /** Spends in a category by its number. The denial tells the retry delay of a spend of `retryCost`. */
  tryCharge(caller: ResolvedCaller, category: number, cost: number, retryCost: number): Denial | undefined {
    const { limiter } = this.#services
    const exact = limiter.spendIn(caller, category, cost)
    if (exact === undefined) return undefined
    const isExact = retryCost === cost
    const denial = isExact ? exact : { ...exact, retryDelayMs: limiter.retryDelay(caller, exact.category, retryCost) }
    return this.#told(denial)
  }

  /** What the client reads of a denial. */
  rejectionOf(denial: Denial): ConnectError {
    const error = denialError(denial, this.#services.domain)
    this.#denials ??= new WeakMap()
    this.#denials.set(error, denial)
    return error
  }

  /** The denial that an error tells of; undefined, if it does not. */
  denialOf(error: unknown): Denial | undefined {
    return this.#denials?.get(error as ConnectError)
  }

  /** Whether an error is one that `spend` and its like have thrown for the client to read. */
  hasThrown(error: unknown): error is ConnectError {
    return this.#thrown?.has(error as ConnectError) === true
  }

  /** What is left of what the route was charged against. */
  left(): LeftUnits[] {
    const { limiter } = this.#services
    return [...this.#chargedAccounts].flatMap(([id, accounts]) => {
      const category = limiter.policy.categories[id]!
      return accounts.flatMap((account) => limiter.outlook(account).map((left) => ({ category, ...left })))
    })
  }

  #reply(): FastifyReply | null {
    return this.#services.replyTo(this.#request)
  }

  /** Whether Fastify's handlerTimeout has answered meanwhile: nothing will be done for the request then. */
  #isAnswered(): boolean {
    return this.#reply()?.sent === true
  }

  /** What the request was charged against, by category, in the order of its charges. */
  get #chargedAccounts(): Map<number, readonly Account[]> {
    if (this.#charged === undefined) {
      this.#charged = new Map()
      if (this.#ofCaller !== undefined) this.#noteOfCaller(this.#ofCaller)
    }
    return this.#charged
  }

  #noteOfCaller({ category }: FirstCharge): void {
    this.#chargedAccounts.set(category, this.#services.limiter.accounts.of(this.caller!, category, []))
  }

  #reserveEarly(
    charges: readonly FirstCharge[],
    made: Reservation[],
    ofRoute: readonly BoundSet[],
  ): Denial | undefined {
    const { limiter } = this.#services
    for (const { category } of charges) {
      this.#chargedAccounts.set(category, limiter.accounts.beforeIdentity(this.#caller.origin, category, ofRoute))
    }
    for (const { category, cost } of charges) {
      const early = limiter.reserveIn(this.#chargedAccounts.get(category)!, category, cost, true)
      if (!(early instanceof Reservation)) return early
      made.push(early)
    }
    return undefined
  }

  /** The denial of several charges, made all or none: what any of them exceeds, of what is known by now. */
  #denialOfAll(first: Denial, charges: readonly FirstCharge[]): Denial {
    const { limiter } = this.#services
    const spends = charges.map(({ category, cost }) => ({ accounts: this.#chargedAccounts.get(category) ?? [], cost }))
    return limiter.denialOfAll(first, spends)
  }

  #chargeLate(caller: ResolvedCaller, charges: readonly FirstCharge[], made: Reservation[]): Denial | undefined {
    const { limiter } = this.#services
    const ofRoute = this.#routeBounds()
    const late = charges.map(({ category }) => limiter.accounts.afterIdentity(caller, category, ofRoute))
    for (const [i, { category }] of charges.entries()) {
      this.#chargedAccounts.set(category, [...(this.#chargedAccounts.get(category) ?? []), ...late[i]!])
    }
    for (const [i, { category, cost }] of charges.entries()) {
      const accounts = late[i]!
      // With the last all is admitted.
      if (i === charges.length - 1) return limiter.spendFrom(accounts, category, cost)
      const reserved = limiter.reserveIn(accounts, category, cost)
      if (!(reserved instanceof Reservation)) return reserved
      made.push(reserved)
    }
    return undefined
  }

  /** What a later spend concerns. */
  async #accounts(category: number): Promise<readonly Account[]> {
    const { limiter } = this.#services
    const ofRoute = this.#routeBounds()
    const accounts =
      this.caller === undefined && !limiter.accounts.needsIdentity(category, ofRoute)
        ? limiter.accounts.beforeIdentity(this.#caller.origin, category, ofRoute)
        : limiter.accounts.of(await this.identify(), category, ofRoute)
    this.#chargedAccounts.set(category, accounts)
    return accounts
  }

  #routeBounds(): readonly BoundSet[] {
    // Not known before the route's charge, as in the hooks of the instance.
    if (this.boundsOfRoute === undefined) return []
    // The app may have put others in their place while the request was under way.
    if (this.#ofRoute?.some(({ isDisposed }) => isDisposed)) this.#ofRoute = undefined
    // One that is named twice is counted once.
    this.#ofRoute ??= [...new Set(this.boundsOfRoute())]
    return this.#ofRoute
  }

  #keep(made: Reservation | Denial): Reservation {
    const denial = this.keep(made)
    if (denial !== undefined) throw this.rejectionOf(denial)
    return made as Reservation
  }

  #releaseAtEnd(made: Reservation): void {
    const reply = this.#reply()
    if (reply === null) {
      made.release()
      throw new Error(
        'nothing can be held or reserved before the hooks of the route have run: do it there, or in the handler',
      )
    }
    this.#open ??= new Set()
    const open = this.#open.add(made)
    made.onClose = () => open.delete(made)
    if (this.#awaitsEnd) return
    this.#awaitsEnd = true
    onEnd(reply, () => {
      this.#awaitsEnd = false
      for (const each of open) each.release()
    })
  }

  async #reporting<T>(what: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (error instanceof ConnectError) {
        this.#thrown ??= new WeakSet()
        this.#thrown.add(error)
        throw asHttpError(error)
      }
      this.report(error, what)
      throw error
    }
  }

  #told(denial: Denial): Denial {
    this.#tell(denial).catch((error: unknown) => this.#request.log.error({ err: error }, 'onDenied failed'))
    return denial
  }

  async #tell(denial: Denial): Promise<void> {
    await this.#services.onDenied?.(denial, this.#request)
  }

  /** The number of a category, which the RPC whose handler spends must declare. */
  #categoryId(category: string, rpc: HandlerSpends | undefined): number {
    const declared = rpc?.byHandler.get(category)
    if (declared !== undefined) return declared
    const id = this.#services.limiter.categoryId(category)
    if (rpc !== undefined) throw undeclaredSpend(rpc.plan, category)
    return id
  }
}
