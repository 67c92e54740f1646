import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence, isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { didYouMean } from '../policy/spelling.ts'

/** What a count path names: the fields that it leads through, in order, and the field at its end. */
export type CountPathFields = { readonly through: readonly DescField[]; readonly leaf: DescField }

/**
 * Finds the fields of a count path, and checks that it can be counted.
 *
 * @throws Error naming the path, the segment, the message type and what is allowed, when the path is empty, has an
 * empty segment, names something that is no field, passes through a field that holds no message, or ends at a field
 * that is neither repeated nor has presence.
 */
export function countPathFields(message: DescMessage, path: string): CountPathFields {
  if (path === '') {
    throw new Error(`count path "" is empty; allowed: field names joined by dots; ${listed(message)}`)
  }
  const [first = '', ...rest] = path.split('.')
  const through: DescField[] = []
  let leaf = fieldNamed(message, first, path)
  for (const segment of rest) {
    through.push(leaf)
    leaf = fieldNamed(messageHeldBy(leaf, path), segment, path)
  }
  if (leaf.fieldKind !== 'list' && leaf.fieldKind !== 'map' && leaf.presence === FeatureSet_FieldPresence.IMPLICIT) {
    throw mistake(leaf, path, `is ${kindOf(leaf)} without presence; a leaf must be repeated or have presence`)
  }
  return { through, leaf }
}

function fieldNamed(message: DescMessage, segment: string, path: string): DescField {
  const found = message.fields.find((field) => field.name === segment)
  if (found !== undefined) {
    return found
  }
  if (segment === '') {
    throw new Error(`count path "${path}" has an empty segment; ${listed(message)}`)
  }
  const group = message.oneofs.find((oneof) => oneof.name === segment)
  if (group !== undefined) {
    const members = group.fields.map((field) => field.name).join(', ')
    throw new Error(
      `count path "${path}": "${segment}" of ${message.typeName} is a oneof, not a field; name one of its members: ${members}`,
    )
  }
  const names = message.fields.map((field) => field.name)
  const hint = didYouMean(segment, names)
  throw new Error(`count path "${path}": ${message.typeName} has no field "${segment}"${hint}; ${listed(message)}`)
}

function messageHeldBy(field: DescField, path: string): DescMessage {
  if (field.message === undefined) {
    throw mistake(field, path, `is ${kindOf(field)}; a path can pass only through messages`)
  }
  if (heldAsPlainValue(field, field.message)) {
    throw mistake(field, path, `is a ${field.message.typeName}; a path can end there, but not pass through it`)
  }
  return field.message
}

/** In these places protobuf-es keeps a message of a well-known type as a JSON object or as a bare scalar. */
function heldAsPlainValue(field: DescField, message: DescMessage): boolean {
  const isStruct = message.typeName === 'google.protobuf.Struct' && field.parent.typeName !== 'google.protobuf.Value'
  return isStruct || (isWrapperDesc(message) && field.fieldKind === 'message' && field.oneof === undefined)
}

function kindOf(field: DescField): string {
  const value =
    field.enum?.typeName ?? (field.scalar === undefined ? 'message' : ScalarType[field.scalar].toLowerCase())
  switch (field.fieldKind) {
    case 'list':
      return `a list of ${value} values`
    case 'map':
      return `a map of ${value} values`
    default:
      return `a single ${value} value`
  }
}

function listed(message: DescMessage): string {
  return `the fields of ${message.typeName} are ${message.fields.map((field) => field.name).join(', ') || '(none)'}`
}

function mistake(field: DescField, path: string, what: string): Error {
  return new Error(`count path "${path}": "${field.name}" of ${field.parent.typeName} ${what}`)
}
