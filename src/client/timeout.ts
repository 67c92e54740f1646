/** The header that carries the time limit of a call. */
export interface Timeout {
  readonly name: string
  readonly ms: number
  readonly unit: string
}

/** Connect writes it from the call's `timeoutMs`, and aborts the call's signal itself when the time is over. */
export function timeoutOf(header: Headers): Timeout | undefined {
  for (const name of ['connect-timeout-ms', 'grpc-timeout']) {
    const [, ms, unit] = /^(\d+\.?\d*)(m?)$/.exec(header.get(name) ?? '') ?? []
    if (ms !== undefined) return { name, ms: Number(ms), unit: unit! }
  }
  return undefined
}

/** The same request, with headers of its own that say how much time is left of its limit. */
export function copyOf<R extends { readonly header: Headers }>(
  request: R,
  timeout: Timeout | undefined,
  leftMs: number,
): R {
  const header = new Headers(request.header)
  if (timeout !== undefined) header.set(timeout.name, `${Math.max(1, Math.ceil(leftMs))}${timeout.unit}`)
  return { ...request, header }
}
