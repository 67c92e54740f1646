import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

const { NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...rest } = process.env

/** As little of the surroundings as can be: test runners and coverage hook into every Node below them. */
export const bareEnv = {
  ...rest,
  // tap puts its hooks back into whatever is started, but not what has been said of them: with coverage, V8 compiles otherwise.
  _TAPJS_PROCESSINFO_COVERAGE_: '0',
}

export type Answer = { readonly value: unknown } | { readonly error: string }

/** A Node process of its own in which something is measured, and which answers one question at a time. */
export class Child {
  readonly #process: ChildProcess
  readonly #gone: Promise<never>

  private constructor(process: ChildProcess, program: string) {
    this.#process = process
    this.#gone = once(process, 'exit').then(([code, signal]) => {
      throw new Error(`${program} has ended (${code ?? signal})`)
    })
    this.#gone.catch(() => {})
  }

  /** Starts a program that calls `answer`. @param setup What its `answer` is given first. */
  static async start(program: string, setup: unknown, execArgv: readonly string[] = []): Promise<Child> {
    const process = fork(program, {
      env: bareEnv,
      execArgv: [...execArgv],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const child = new Child(process, program)
    try {
      await child.ask(setup)
    } catch (error) {
      process.kill()
      throw error
    }
    return child
  }

  /** @throws what the child has thrown. */
  async ask<T>(question: unknown): Promise<T> {
    const answered = once(this.#process, 'message')
    this.#process.send(question as object)
    const [answer] = (await Promise.race([answered, this.#gone])) as [Answer]
    if ('error' in answer) throw new Error(answer.error)
    return answer.value as T
  }

  async end(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill()
    await ended
  }
}

/** Runs with children that are ended afterwards, whatever happens. Started two at a time. */
export async function withChildren<T>(
  starts: readonly (() => Promise<Child>)[],
  run: (children: Child[]) => Promise<T>,
): Promise<T> {
  const children: Child[] = []
  try {
    const waiting = [...starts.entries()]
    const startSome = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        children[next[0]] = await next[1]()
      }
    }
    const started = await Promise.allSettled([startSome(), startSome()])
    for (const each of started) if (each.status === 'rejected') throw each.reason
    return await run(children)
  } finally {
    await Promise.all(Object.values(children).map((child) => child.end()))
  }
}
