import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { h2load, type Load, type LoadResult } from './h2load.ts'
import type { ServerSetup, ServerState } from './server-child.ts'

const program = join(import.meta.dirname, 'server-child.ts')

/** Starts servers that share a process. */
export function startServers(setups: readonly ServerSetup[]): Promise<Child> {
  return Child.start(program, setups)
}

/** What one of the servers of a process says. */
export function stateOf(servers: Child, index: number): Promise<ServerState> {
  return servers.ask(index)
}

/** What a load took, with what the server says of it. */
export interface Taken extends LoadResult {
  /** Processor time of the server's process for one request. */
  readonly cpuUs: number
  /** How many handlers have run. */
  readonly handled: number
  readonly denied: number
}

/** Lays a load on one of the servers of a process. */
export async function loadOn(servers: Child, index: number, load: Omit<Load, 'port'>): Promise<Taken> {
  const before = await stateOf(servers, index)
  const result = await h2load({ ...load, port: before.port })
  const after = await stateOf(servers, index)
  return {
    ...result,
    cpuUs: (after.cpuUs - before.cpuUs) / load.requests,
    handled: after.handled - before.handled,
    denied: after.denied - before.denied,
  }
}

/** @throws Error when not all requests of a load were handled, or not all denied. */
export function mustBe(outcome: 'admitted' | 'denied', { handled, denied }: Taken, requests: number): void {
  const expected = outcome === 'admitted' ? { handled: requests, denied: 0 } : { handled: 0, denied: requests }
  if (handled === expected.handled && denied === expected.denied) return
  throw new Error(`of ${requests} requests that must be ${outcome}, ${handled} were handled and ${denied} denied`)
}
