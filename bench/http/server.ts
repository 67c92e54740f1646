import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { h2load, type Load, type LoadResult } from './h2load.ts'
import type { ServerSetup, ServerState } from './server-child.ts'

const program = join(import.meta.dirname, 'server-child.ts')

export function startServer(setup: ServerSetup): Promise<Child> {
  return Child.start(program, setup)
}

/** What a load took, with what the server says of it. */
export interface Taken extends LoadResult {
  /** Processor time of the server's process for one request. */
  readonly cpuUs: number
  /** How many handlers have run. */
  readonly handled: number
  readonly denied: number
}

/** Lays a load on a server. */
export async function loadOn(server: Child, load: Omit<Load, 'port'>): Promise<Taken> {
  const before = await server.ask<ServerState>('state')
  const result = await h2load({ ...load, port: before.port })
  const after = await server.ask<ServerState>('state')
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
