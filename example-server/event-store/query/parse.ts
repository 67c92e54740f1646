import { bounds } from '../bounds.ts'
import { Refused } from '../refused.ts'

export type Scalar = string | number | boolean | null
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A field of an event, by its names: `e.data.title` is `['data', 'title']`, and `e` itself is `[]`. */
export type Path = readonly string[]

export interface Query {
  where: readonly { path: Path; comparison: Comparison; value: Scalar }[]
  descending: boolean
  skip: number
  top: number
  project: { count: true } | { path: Path } | { fields: readonly (readonly [name: string, path: Path])[] }
}

interface Token {
  kind: 'name' | 'text' | 'number' | 'sign' | 'end'
  text: string
  at: number
}

const TOKEN =
  /(?:(?<name>[A-Za-z_][A-Za-z0-9_]*)|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<number>-?\d+(?:\.\d+)?)|(?<sign>==|!=|<=|>=|[<>.,:(){}]))/suy

/**
 * A tiny subset of EventQL: `FROM e IN events`, `WHERE` with comparisons of a field and a literal joined by `AND`,
 * `ORDER BY e.id ASC | DESC`, `SKIP`, `TOP`, and `PROJECT INTO` the event, one of its fields, an object of its fields, or
 * `COUNT()`. Everything else of the language is refused.
 * @throws {Refused} saying at which character what was expected.
 */
export function parseQuery(text: string): Query {
  const tokens = tokenize(text)
  let i = 0
  const peek = () => tokens[i]!
  const fail = (expected: string): never => {
    const { kind, at } = peek()
    throw new Refused(
      400,
      `query: expected ${expected} at ${kind === 'end' ? 'its end' : `character ${at + 1}`}; this server knows only a subset of EventQL, see its OpenAPI definition`,
    )
  }
  const isWord = (word: string) => peek().kind === 'name' && peek().text.toUpperCase() === word
  const word = (...words: string[]) => {
    for (const one of words) {
      if (!isWord(one)) fail(one)
      i++
    }
  }
  const sign = (expected: string) => {
    if (peek().kind !== 'sign' || peek().text !== expected) fail(`"${expected}"`)
    i++
  }
  const isSign = (expected: string) => peek().kind === 'sign' && peek().text === expected
  const name = (expected: string): string => {
    if (peek().kind !== 'name') fail(expected)
    return tokens[i++]!.text
  }
  const path = (): Path => {
    if (peek().kind !== 'name' || peek().text !== alias) fail(`a field of ${JSON.stringify(alias)}`)
    i++
    const names: string[] = []
    while (isSign('.')) {
      i++
      names.push(name('the name of a field'))
    }
    return names
  }
  const integer = (): number => {
    const { kind, text } = peek()
    if (kind !== 'number' || !/^\d{1,15}$/.test(text)) fail('a whole number')
    i++
    return Number(text)
  }
  const scalar = (): Scalar => {
    const { kind, text } = peek()
    if (kind === 'text') return unquote(tokens[i++]!.text)
    if (kind === 'number') return Number(tokens[i++]!.text)
    for (const [word, value] of WORDS) {
      if (!isWord(word)) continue
      i++
      return value
    }
    return fail(`a text, a number, TRUE, FALSE or NULL${text === alias ? ', not a field' : ''}`)
  }
  const comparison = (): Comparison => {
    const { kind, text } = peek()
    if (kind !== 'sign' || !COMPARISONS.has(text)) fail('==, !=, <, <=, > or >=')
    i++
    return text as Comparison
  }

  word('FROM')
  const alias = name('a name for the events')
  word('IN', 'EVENTS')
  const where: Query['where'][number][] = []
  if (isWord('WHERE')) {
    do {
      i++
      if (where.length === bounds.queryConditions) fail(`at most ${bounds.queryConditions} conditions`)
      where.push({ path: path(), comparison: comparison(), value: scalar() })
    } while (isWord('AND'))
  }
  let descending = false
  if (isWord('ORDER')) {
    word('ORDER', 'BY')
    const at = i
    if (path().join('.') !== 'id') {
      i = at
      fail(`${alias}.id, the only order that this server knows,`)
    }
    descending = isWord('DESC')
    if (descending || isWord('ASC')) i++
  }
  const after = (clause: string, otherwise: number) => {
    if (!isWord(clause)) return otherwise
    i++
    return integer()
  }
  const skip = after('SKIP', 0)
  const top = after('TOP', Number.MAX_SAFE_INTEGER)
  word('PROJECT', 'INTO')
  const project = ((): Query['project'] => {
    if (isWord('COUNT')) {
      i++
      sign('(')
      sign(')')
      return { count: true }
    }
    if (!isSign('{')) return { path: path() }
    const fields: [string, Path][] = []
    do {
      i++
      if (fields.length === bounds.queryFields) fail(`at most ${bounds.queryFields} fields`)
      const field = name('the name of a field')
      sign(':')
      fields.push([field, path()])
    } while (isSign(','))
    sign('}')
    return { fields }
  })()
  if (peek().kind !== 'end') fail('nothing more')
  return { where, descending, skip, top, project }
}

const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>='])
const WORDS = [
  ['TRUE', true],
  ['FALSE', false],
  ['NULL', null],
] as const

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  for (;;) {
    const at = TOKEN.lastIndex + /^\s*/.exec(text.slice(TOKEN.lastIndex))![0].length
    if (at === text.length) return [...tokens, { kind: 'end', text: '', at }]
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(text)?.groups
    if (groups === undefined) throw new Refused(400, `query: there is no EventQL at character ${at + 1}`)
    const [kind, found] = Object.entries(groups).find(([, value]) => value !== undefined)!
    tokens.push({ kind: kind as Token['kind'], text: found!, at: TOKEN.lastIndex - found!.length })
  }
}

function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gsu, '$1')
}
