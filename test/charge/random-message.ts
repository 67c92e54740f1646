import { type DescField, type DescMessage, isFieldSet, type Message, ScalarType } from '@bufbuild/protobuf'
import {
  type ReflectList,
  type ReflectMap,
  type ReflectMessage,
  reflect,
  type ScalarValue,
} from '@bufbuild/protobuf/reflect'
import { FeatureSet_FieldPresence, isWrapperDesc } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'

/** Any message of this type, through protobuf-es's own reflection; message fields are left out below `depth`. */
export function anyMessage(desc: DescMessage, depth: number): fc.Arbitrary<Message> {
  return anyReflected(desc, depth).map((reflected) => reflected.message)
}

/** Every count path of up to `length` fields that is allowed, worked out from the descriptors alone. */
export function allowedPaths(desc: DescMessage, length: number): string[] {
  return desc.fields.flatMap((field) => {
    const isRepeated = field.fieldKind === 'list' || field.fieldKind === 'map'
    const isLeaf = isRepeated || field.presence !== FeatureSet_FieldPresence.IMPLICIT
    const below =
      length > 1 && field.message !== undefined && !isPlain(field) ? allowedPaths(field.message, length - 1) : []
    return [...(isLeaf ? [field.name] : []), ...below.map((path) => `${field.name}.${path}`)]
  })
}

/** What a count path counts, the slow way: by reflection, name by name. */
export function countByReflection(message: ReflectMessage, [name, ...rest]: readonly string[]): number {
  const field = message.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw new Error(`no field ${name}`)
  const below = (value: unknown) => countByReflection(value as ReflectMessage, rest)
  if (field.fieldKind === 'list') {
    const list = message.get(field) as ReflectList
    return rest.length === 0 ? list.size : [...list].reduce((sum: number, value) => sum + below(value), 0)
  }
  if (field.fieldKind === 'map') {
    const map = message.get(field) as ReflectMap
    return rest.length === 0 ? map.size : [...map.values()].reduce((sum: number, value) => sum + below(value), 0)
  }
  if (!isFieldSet(message.message, field)) return 0
  return rest.length === 0 ? 1 : below(message.get(field))
}

/** protobuf-es keeps these as JSON or as a scalar, so that no path may pass through them. */
function isPlain(field: DescField): boolean {
  const { message } = field
  if (message === undefined) return true
  if (message.typeName === 'google.protobuf.Struct') return field.parent.typeName !== 'google.protobuf.Value'
  return isWrapperDesc(message) && field.fieldKind === 'message' && field.oneof === undefined
}

const known = new Map<string, fc.Arbitrary<ReflectMessage>>()

function anyReflected(desc: DescMessage, depth: number): fc.Arbitrary<ReflectMessage> {
  const key = `${desc.typeName} ${depth}`
  const found = known.get(key)
  if (found !== undefined) return found
  const setters = desc.members.map((member) => {
    if (member.kind === 'field') return anySetter(member, depth)
    const cases = member.fields.map((field) => anySetter(field, depth))
    return fc.option(fc.oneof(...cases), { nil: () => {} })
  })
  const made = fc.tuple(...setters).map((all) => {
    const message = reflect(desc)
    for (const set of all) set(message)
    return message
  })
  known.set(key, made)
  return made
}

function anySetter(field: DescField, depth: number): fc.Arbitrary<(message: ReflectMessage) => void> {
  if (field.message !== undefined && depth === 0) return fc.constant(() => {})
  const value = anyValue(field, depth)
  switch (field.fieldKind) {
    case 'list':
      return fc.array(value, { maxLength: 3 }).map((values) => (message) => {
        for (const each of values) (message.get(field) as ReflectList).add(each)
      })
    case 'map':
      return fc.array(fc.tuple(anyScalar(field.mapKey), value), { maxLength: 3 }).map((entries) => (message) => {
        for (const [key, each] of entries) (message.get(field) as ReflectMap).set(key as string, each)
      })
    default: {
      const setter = value.map((each) => (message: ReflectMessage) => message.set(field, each))
      const isRequired = field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED
      return isRequired ? setter : fc.option(setter, { nil: () => {} })
    }
  }
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<ReflectMessage & ScalarValue> {
  const value =
    field.message !== undefined
      ? anyReflected(field.message, depth - 1)
      : field.enum !== undefined
        ? fc.constantFrom(...field.enum.values.map(({ number }) => number))
        : anyScalar(field.scalar ?? ScalarType.STRING)
  return value as fc.Arbitrary<ReflectMessage & ScalarValue>
}

function anyScalar(type: ScalarType): fc.Arbitrary<ScalarValue> {
  switch (type) {
    case ScalarType.BOOL:
      return fc.boolean()
    case ScalarType.STRING:
      return fc.constantFrom('', 'text', '__proto__', 'constructor', '0')
    case ScalarType.BYTES:
      return fc.constantFrom(new Uint8Array(), new Uint8Array([1]))
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return fc.constantFrom(0n, 1n)
    default:
      return fc.constantFrom(0, 1)
  }
}
