/** A response that can be ended with an error whatever its handler does, also one that waits for ever. */
export class ResponseGuard {
  #error: Error | undefined
  /** Rejects what the response waits for: it waits for one thing at a time. */
  #reject: (error: Error) => void = ignore
  /** Tells the handler that nothing more is read. */
  #leave = ignore

  /** Ends the response with `error`, after what was sent before. Only the first call counts. */
  fail(error: Error): void {
    if (this.#error !== undefined) return
    this.#error = error
    this.#reject(error)
    this.#leave()
  }

  /** What `start` comes to, unless the response fails first. It is not started after that. */
  settle<T>(start: () => PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#error !== undefined) return reject(this.#error)
      this.#reject = reject
      start().then(resolve, reject)
    })
  }

  /** The messages of the response, up to its failure. */
  messages<T>(handler: AsyncIterable<T>): AsyncIterable<T> {
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = handler[Symbol.asyncIterator]()
        // Not every iterator keeps to its type: this one is the app's.
        const leave = async () => iterator.return?.()
        this.#leave = () => void leave().catch(ignore)
        const { throw: passThrow, return: passReturn } = iterator
        return {
          next: () => this.settle(() => iterator.next()),
          ...(passThrow && { throw: (error) => passThrow.call(iterator, error) }),
          ...(passReturn && { return: (value) => passReturn.call(iterator, value) }),
        }
      },
    }
  }
}

function ignore(): void {}
