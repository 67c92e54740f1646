import type { Caller, Limiter } from '../src/index.ts'
import { CATEGORIES } from './categories.ts'
import type { OwnLimits } from './config-overrides.ts'
import { BackendService } from './gen/example/v1/backend_pb.ts'
import { countOf, limitInWords, windowSecondsOf } from './limit-words.ts'

export interface BannerOptions {
  /** The URLs of the listeners. */
  http: string
  h2c: string
  /** The plugin's table, as text. */
  categoryTable: string
  limiter: Limiter
  /** Callers with limits of their own. */
  overrides?: readonly OwnLimits[]
  /** Shown in the examples: only ever a key that everybody knows. */
  demoKey?: string
  /** Where the limits come from. */
  config?: string
  /** Where envelopes are kept. */
  database?: string
}

// Nobody: an address for documentation, and names that no configuration needs to name.
const SAMPLES: readonly Caller[] = [
  { type: 'api_key', name: '' },
  { type: 'jwt', iss: '', sub: '' },
  { type: 'ip', address: '192.0.2.0' },
]
const ADDRESS = SAMPLES[2]!

/** What the server says when it has started: where it is, what a call costs, what is admitted, and what to try. */
export function banner(options: BannerOptions): string {
  const { http, h2c, categoryTable, limiter, overrides = [], config, database } = options
  const rows = [
    ['HTTP/1.1', http, 'a page for browsers; curl, Connect, gRPC-Web'],
    ['HTTP/2', h2c, 'gRPC and Connect, without TLS'],
    ['Limits', config ?? 'the defaults', ''],
    ['Envelopes', database ?? 'in memory', ''],
  ]
  return `
fastify-allowance example server

${table(rows)}

What a call costs

${indent(categoryTable)}

What is admitted, for each caller (a caller is an API key, a user of a token, or an address)

${table(CATEGORIES.map((category) => [category, limitsInWords(limiter, category)]))}
${overrides.length === 0 ? '' : `\nWhat is admitted to some of them instead\n\n${ownLimits(limiter, overrides)}\n`}
Try it

  Open ${http} in a browser, or:

${indent(examples(options))}

`
}

function limitsInWords(limiter: Limiter, category: string): string {
  const [apiKey, jwt, ip] = SAMPLES.map((sample) => limitsOf(limiter, sample, category))
  return apiKey === jwt && jwt === ip ? ip! : `API key: ${apiKey}; token: ${jwt}; address: ${ip}`
}

function limitsOf(limiter: Limiter, caller: Caller, category: string): string {
  const limits = limiter.remaining(caller, category).map(({ limit }) => limitInWords(limit))
  return limits.join(', ') || 'everything'
}

function ownLimits(limiter: Limiter, overrides: readonly OwnLimits[]): string {
  return table(
    overrides.flatMap(({ caller, categories }, i) =>
      categories.map((category) => [`${i + 1}. ${inWords(caller)}`, category, limitsOf(limiter, caller, category)]),
    ),
  )
}

/** What may be said of a caller where it may end up in a log: no address, and no claim that names a person. */
function inWords(caller: Caller): string {
  if (caller.type === 'api_key') return `API key ${JSON.stringify(caller.name)}`
  return caller.type === 'jwt' ? `a user of ${JSON.stringify(caller.iss ?? '')}` : 'an address'
}

function examples({ http, h2c, limiter, demoKey, config }: BannerOptions): string {
  const token = `$(npm run -s token -- ${config === undefined ? '' : `--config ${JSON.stringify(config)} `}--sub alice)`
  const call = (rpc: string, body: string, rest = '') =>
    `curl -sS ${rest}--json '${body}' ${http}/${BackendService.typeName}/${rpc}`
  const lines = [
    demoKey === undefined
      ? "# publish an envelope, charged to your address; with -H 'X-Api-Key: …', to the owner of that key"
      : '# publish an envelope, as the owner of an API key',
    call(
      'Publish',
      `{"envelopes":[{"topic":"greetings","applicationMessage":"${Buffer.from('hello').toString('base64')}"}]}`,
      demoKey === undefined ? '' : `-H 'X-Api-Key: ${demoKey}' `,
    ),
    '# read it, charged to your address; or as a user, with a token',
    call('Query', '{"topics":["greetings"]}'),
    call('Query', '{"topics":["greetings"]}', `-H "Authorization: Bearer ${token}" `),
    '# the same over gRPC',
    `npx buf curl --protocol grpc --http2-prior-knowledge --schema proto -d '{"topics":["greetings"]}' ${h2c}/${BackendService.typeName}/Query`,
    '# free',
    call('GetConfiguration', '{}'),
    call('GetAllowance', '{}'),
    `curl -sS --json '{}' ${http}/grpc.health.v1.Health/Check`,
  ]
  lines.push('# a stream: what there is, and then whatever is published, until Ctrl-C', watch(http))
  if (refusesSoon(limiter)) {
    lines.push(
      '# again and again, until it is refused',
      `while ${call('CreateUpload', '{"sizeBytes":"1"}', '--fail-with-body ')}; do echo; done`,
    )
  }
  return lines.join('\n')
}

/** Connect streams in JSON: each message comes after a byte of flags and its length in four. */
function watch(http: string): string {
  const message = '{"topics":[{"topic":"greetings"}]}'
  const request = `\\0\\0\\0\\${message.length.toString(8)}${message}`
  const url = `${http}/${BackendService.typeName}/SubscribeStatic`
  return `printf '\\0${request}' | curl -sSN --output - -H 'Content-Type: application/connect+json' --data-binary @- ${url}`
}

/** Whether an address that uploads as fast as curl can is refused before long. */
function refusesSoon(limiter: Limiter): boolean {
  return limiter
    .remaining(ADDRESS, 'upload')
    .some(({ limit }) => countOf(limit) <= 1000 && countOf(limit) <= 10 * windowSecondsOf(limit))
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return indent(
    rows
      .map((row) =>
        row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd(),
      )
      .join('\n'),
  )
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}
