import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import { countPathFields } from './count-path-fields.ts'

/** A message, or what a map field holds, as protobuf-es lays it out. */
type Fields = Readonly<Record<string, unknown>>
type Oneof = { readonly case: string | undefined; readonly value?: unknown }
type Counter = (message: Fields) => number

/**
 * Compiles a count path to a function that counts, in a message of this type, the values present at the end of the path.
 *
 * A path is field names as the .proto spells them, joined by dots: `envelopes.identity_update.signatures.erc_6492`. It
 * leads through singular and repeated message fields, map fields (through their values) and members of a oneof. The leaf
 * is a repeated field (counted: its elements), a map field (its entries), or a field with presence (1 when it is set,
 * 0 when it is not): a message, a member of a oneof, `optional` in proto3, any singular field in proto2, explicit
 * presence in editions.
 *
 * The function allocates nothing of its own, never throws for a message of this type, and returns a whole number from
 * 0 up to 2⁵³−1.
 *
 * @throws Error naming the path, the segment, the message type and what is allowed, when the path does not fit the
 * message type.
 */
export function compileCountPath(message: DescMessage, path: string): (message: Message) => number {
  const { through, leaf } = countPathFields(message, path)
  const counter = through.reduceRight((next, field) => countThrough(field, next), countLeaf(leaf))
  return (counted) => Math.min(counter(counted as unknown as Fields), Number.MAX_SAFE_INTEGER)
}

function countLeaf(field: DescField): Counter {
  const name = field.localName
  if (field.fieldKind === 'list') {
    return (message) => (message[name] as readonly unknown[]).length
  }
  if (field.fieldKind === 'map') {
    return (message) => {
      const map = message[name] as Fields
      let entries = 0
      for (const key in map) {
        if (Object.hasOwn(map, key)) {
          entries += 1
        }
      }
      return entries
    }
  }
  if (field.oneof !== undefined) {
    const group = field.oneof.localName
    return (message) => ((message[group] as Oneof).case === name ? 1 : 0)
  }
  return (message) => (isSet(message, name) ? 1 : 0)
}

function countThrough(field: DescField, next: Counter): Counter {
  const name = field.localName
  if (field.fieldKind === 'list') {
    return (message) => {
      const list = message[name] as readonly Fields[]
      let sum = 0
      for (let i = 0; i < list.length; i++) {
        sum += next(list[i] as Fields)
      }
      return sum
    }
  }
  if (field.fieldKind === 'map') {
    return (message) => {
      const map = message[name] as Fields
      let sum = 0
      for (const key in map) {
        if (Object.hasOwn(map, key)) {
          sum += next(map[key] as Fields)
        }
      }
      return sum
    }
  }
  if (field.oneof !== undefined) {
    const group = field.oneof.localName
    return (message) => {
      const oneof = message[group] as Oneof
      return oneof.case === name ? next(oneof.value as Fields) : 0
    }
  }
  return (message) => (isSet(message, name) ? next(message[name] as Fields) : 0)
}

/** An own property, because default values, and names such as `hasOwnProperty`, are on the prototype. */
function isSet(message: Fields, name: string): boolean {
  return Object.hasOwn(message, name) && message[name] !== undefined
}
