import { z } from 'zod'
import { bounds } from './bounds.ts'
import { check, jsonProblem } from './check.ts'
import { Refused } from './refused.ts'

/** Tells whether the data of an event is what the schema of its type wants. */
export type CheckData = (data: unknown) => boolean

const count = z.int({ error: 'must be a whole number from 0' }).min(0, { error: 'must be a whole number from 0' })
const number = z.number({ error: 'must be a number' })
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'must be a text, a number, true, false or null',
})
const type = z.enum(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'], {
  error: 'must be "string", "number", "integer", "boolean", "null", "object" or "array"',
})

/** What of JSON Schema this server knows. What it does not know it refuses, rather than to let everything through. */
const schemaSchema: z.ZodType = z.lazy(() =>
  z.strictObject({
    $schema: z.string().optional(),
    title: z.string().optional(),
    description: z.string().optional(),
    type: type.optional(),
    properties: z.record(z.string(), schemaSchema, { error: 'must be an object' }).optional(),
    required: z.array(z.string({ error: 'must be a name' }), { error: 'must be an array' }).optional(),
    additionalProperties: z.boolean({ error: 'must be true or false' }).optional(),
    items: schemaSchema.optional(),
    enum: z.array(scalar, { error: 'must be an array' }).min(1, { error: 'must not be empty' }).optional(),
    const: scalar.optional(),
    minimum: number.optional(),
    maximum: number.optional(),
    minLength: count.optional(),
    maxLength: count.optional(),
    minItems: count.optional(),
    maxItems: count.optional(),
  }),
)

interface Schema {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
}

/**
 * Checks a schema, in JSON Schema: of its keywords type, properties, required, additionalProperties, items, enum, const,
 * minimum, maximum, minLength, maxLength, minItems and maxItems.
 * @throws {Refused} naming what is wrong with it.
 */
export function checkSchema(schema: unknown, where: string): void {
  const problem = jsonProblem(schema)
  if (problem !== undefined) throw new Refused(400, `${where}: ${problem}`)
  if (Buffer.byteLength(JSON.stringify(schema) ?? '') > bounds.schemaBytes) {
    throw new Refused(400, `${where}: must be at most ${bounds.schemaBytes} bytes of JSON`)
  }
  check(schemaSchema, schema, where)
  if ((schema as Schema).type !== 'object') throw new Refused(400, `${where}.type: must be "object"`)
  checkRequired(schema as Schema, where)
}

function checkRequired(root: Schema, where: string): void {
  const left = [root]
  for (let looked = 0; left.length > 0; looked++) {
    if (looked === bounds.schemaNodes) {
      throw new Refused(400, `${where}: must not name more than ${bounds.schemaNodes} properties and items`)
    }
    const { type, properties = {}, required = [], items } = left.pop()!
    if (required.some((name) => !Object.hasOwn(properties, name))) {
      throw new Refused(400, `${where}: every name in "required" must be one of "properties"`)
    }
    // Without them, JSON Schema would let other types through unchecked.
    if (type === undefined && (Object.keys(properties).length > 0 || items !== undefined)) {
      throw new Refused(400, `${where}: "properties" and "items" need a "type" beside them`)
    }
    left.push(...Object.values(properties), ...(items === undefined ? [] : [items]))
  }
}

/** Makes the check of data out of a schema that `checkSchema` let through. */
export function compileSchema(schema: unknown): CheckData {
  const compiled = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
  return (data) => compiled.safeParse(data).success
}
