/** A limit, and where it stands. */
export interface PlacedLimit {
  /** The bound's name; `caller`: the limits of the caller's category. */
  readonly bound: string
  readonly category: string
  readonly limit: { readonly kind?: string | undefined; readonly windowSeconds?: number | undefined }
}

/**
 * Names for limits in header fields and problems, each once. Among the limits of a response a name says:
 *
 * - the bound: `per-sender`; of the caller's own limits also the category unless it is `request`: `caller`, `caller-publish`
 * - if several limits go by that, the window in seconds or else the kind: `caller-60`, `caller-3600`, `per-sender-epoch`
 * - if that is taken (a route's bound may be called what one of the plugin's is called), how often: `per-sender-60-2`
 *
 * The same limits in the same order have the same names.
 */
export function policyNames(limits: readonly PlacedLimit[]): string[] {
  const places = limits.map(placeOf)
  const taken = new Set<string>()
  return limits.map(({ limit }, index) => {
    const place = places[index]!
    const isOneOfSeveral = places.indexOf(place) !== places.lastIndexOf(place)
    const base = isOneOfSeveral ? `${place}-${limit.windowSeconds ?? limit.kind}` : place
    let name = base
    for (let times = 2; taken.has(name); times++) name = `${base}-${times}`
    taken.add(name)
    return name
  })
}

function placeOf({ bound, category }: PlacedLimit): string {
  return bound === 'caller' && category !== 'request' ? `${bound}-${category}` : bound
}
