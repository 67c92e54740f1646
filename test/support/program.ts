import { type ChildProcess, type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'

export interface ProgramOptions {
  readonly cwd?: string
  /** Default: the environment of the test. */
  readonly env?: NodeJS.ProcessEnv
  /** Without the loaders that the test runner hands to every Node below it, which break some programs. Default false. */
  readonly plain?: boolean
  /** What it may take, in milliseconds. Default 45,000: less than the test runner gives to a file. */
  readonly withinMs?: number
}

/** What a program printed, and its exit code. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A program that runs until the test ends, or somebody stops it. */
export interface Program {
  readonly child: ChildProcess
  /** All that it has printed up to now. */
  readonly output: () => string
  /** Waits until what it has printed to standard output matches. */
  readonly until: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Waits for its end; resolves to exit code and signal. */
  readonly end: () => Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

const WITHIN_MS = 45_000

/**
 * What a promise comes to.
 * @throws {Error} when that takes longer than `withinMs`; it says `what` did not happen.
 */
export async function within<T>(promise: Promise<T>, what: () => string, withinMs = WITHIN_MS): Promise<T> {
  const done = new AbortController()
  const late = setTimeout(withinMs, undefined, { signal: done.signal }).then(() => {
    throw new Error(`not within ${withinMs} ms: ${what()}`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    done.abort()
  }
}

/**
 * Runs a program to its end.
 * @throws {Error} when it cannot be started, does not end in time, or is ended by a signal; with what it had printed.
 */
export async function outcome(command: readonly string[], options: ProgramOptions = {}): Promise<Outcome> {
  const { child, printed, output, kill } = launch(command, options, 'ignore')
  try {
    // Not 'exit': what it started may have more to print.
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    const [code, signal] = await within(closed, () => `the end of ${inWords(command)}${output()}`, options.withinMs)
    if (code === null) throw new Error(`${signal} ended ${inWords(command)}${output()}`)
    return { code, ...printed }
  } finally {
    kill()
  }
}

/**
 * Runs a program that has to end with code 0.
 * @throws {Error} as `outcome`, and when it ends with another code.
 */
export async function run(command: readonly string[], options: ProgramOptions = {}): Promise<Outcome> {
  const ended = await outcome(command, options)
  if (ended.code === 0) return ended
  throw new Error(`code ${ended.code} of ${inWords(command)}${ended.stdout}${ended.stderr}`)
}

/**
 * Starts a program, which is ended with the test, and all that it started with it. `withinMs` is for each wait.
 * @throws {Error} from the waits, when it takes too long or ends before; with what it had printed.
 */
export function start(
  t: { teardown(run: () => unknown): unknown },
  command: readonly string[],
  options: ProgramOptions & { readonly stdin?: 'pipe' } = {},
): Program {
  const { child, printed, output, kill } = launch(command, options, options.stdin ?? 'ignore')
  t.teardown(kill)
  const exit = once(child, 'exit') as ReturnType<Program['end']>
  const closed = once(child, 'close')
  for (const promise of [exit, closed]) promise.catch(() => {})

  const until = async (pattern: RegExp) => {
    const wanted = () => `${pattern} from ${inWords(command)}${output()}`
    const found = new Promise<RegExpExecArray>((resolve) => {
      const look = () => {
        const match = pattern.exec(printed.stdout)
        if (match === null) return
        child.stdout.off('data', look)
        resolve(match)
      }
      child.stdout.on('data', look)
      look()
    })
    const ended = closed.then(([code, signal]) => {
      throw new Error(`code ${code}, signal ${signal} instead of ${wanted()}`)
    })
    return within(Promise.race([found, ended]), wanted, options.withinMs)
  }
  const end = () => within(exit, () => `the end of ${inWords(command)}${output()}`, options.withinMs)
  return { child, output, until, end }
}

const running = new Set<() => void>()
const killAll = () => {
  for (const kill of running) kill()
}
process.once('exit', killAll)
// In groups of their own they do not get the terminal's.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killAll()
    process.kill(process.pid, signal)
  })
}

/** Starts a program in a process group of its own, so that `kill` reaches what it starts in turn. */
function launch(command: readonly string[], { cwd, env, plain }: ProgramOptions, stdin: 'ignore' | 'pipe') {
  // Not by `env` alone: the runner puts them back in.
  const [program, ...args] = plain ? ['env', '--unset=NODE_OPTIONS', ...command] : command
  const options = { cwd, env, detached: true, stdio: [stdin, 'pipe', 'pipe'] } satisfies SpawnOptions
  const child = spawn(program!, args, options) as ChildProcessByStdio<Writable | null, Readable, Readable>
  const printed = { stdout: '', stderr: '' }
  let output = ''
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      output += text
    })
  }
  const kill = () => {
    running.delete(kill)
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    // What has left the group may hold them for ever.
    child.stdout.destroy()
    child.stderr.destroy()
  }
  running.add(kill)
  return { child, printed, output: () => output, kill }
}

const inWords = (command: readonly string[]) => `${command.join(' ')}; printed:\n`
