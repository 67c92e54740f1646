/** Freezes a value with everything in it, so that code which changes its input throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const key of Reflect.ownKeys(value)) deepFreeze((value as Record<PropertyKey, unknown>)[key])
  }
  return value
}

/** Every object in a value, the value itself first. */
export function* objectsIn(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return
  yield value
  for (const key of Reflect.ownKeys(value)) yield* objectsIn((value as Record<PropertyKey, unknown>)[key])
}
