/** Options of `OpenStream.update`. */
export interface UpdateOptions {
  /**
   * Whether the update registers a topic that the stream does not hold yet. It then pays for the read of its catch-up
   * target too: 1 `request`, after the rent (RATE-034). Default: false.
   */
  registers?: boolean | undefined
}

/**
 * A stream that pays for what it holds: rent in advance for each period, from when it opened to its end. It ends by itself
 * when its handler does or its client leaves, at the deadline of the call, when the server closes, or when a spend is denied;
 * in the last three cases the response ends too, with the error that says so.
 */
export interface OpenStream {
  /**
   * Pays for holding `topics` topics (0 … 2⁵³ − 1), and is to be awaited before any of them is registered. A rent
   * higher than the period has paid costs the difference (RATE-031). A lower one is not refunded, and adding back up to what
   * is paid is free.
   * @throws the ConnectError that ends the stream, when the spend is denied: nothing may be registered. It tells the
   * delay of all that a stream in its place pays at once: the whole rent (RATE-032), or 2 `request` (RATE-034).
   * The reason of `signal`, when the stream has ended. RangeError for a number that is no such count; the stream stays open.
   */
  update(topics: number, options?: UpdateOptions): Promise<void>

  /**
   * Spends 1 `request` and then makes a catch-up read: resolves to what `read` does. While the spend is denied the read
   * waits, at least for the retry delay, and is tried again; the stream stays open (RATE-033). Several are paid for in their
   * order, and may run at the same time.
   * @throws the reason of `signal`, when the stream ends first; what `read` throws.
   */
  catchUp<T>(read: () => T | Promise<T>): Promise<T>

  /** Aborted when the stream ends. Its reason says why: for a denial, the ConnectError that the client reads. */
  readonly signal: AbortSignal

  /** How many topics the stream pays for. */
  readonly topics: number

  /** Ends it: no more rent. To be called where the response goes on without its topics; the end of the handler ends it too. */
  end(): void
}

/** A spend of a stream that was denied. */
export interface StreamDenial {
  /** The error for the client. */
  readonly error: Error
  /** What it tells the client, in ms; null: it cannot be said. */
  readonly retryDelayMs: number | null
}

/** The request that a stream is part of, as far as it needs to know. */
export interface StreamHost {
  /** Aborted when the request is over: its handler has ended, or the client has gone. */
  readonly signal: AbortSignal

  /** Spends `units` of rent, or of `request` for a read; a denial tells the delay of a spend of `retryUnits`. */
  spend(category: 'rent' | 'request', units: number, retryUnits: number): StreamDenial | undefined

  /** The stream is over with its request: what a handler still delivers, nobody pays for. */
  over(reason: unknown): void

  /** Ends the response with an error, whatever the handler does. */
  fail(error: Error): void

  /** Tells the developer of a mistake in an update, of which the client must learn nothing. */
  report(error: unknown): void
}
