import { generateKeyPairSync } from 'node:crypto'
import { type Counts, type RelayLimits, WINDOWS } from './settings.ts'
import { identityOf, idOf, signFields } from './signature.ts'

export interface BannerOptions {
  url: string
  limits: RelayLimits
  /** Where limits come from, beside the environment. */
  config?: string | undefined
  /** Where messages are kept. */
  database?: string | undefined
}

/** What the relay says when it has started: where it is, what is admitted, and what to try. */
export function banner({ url, limits, config, database }: BannerOptions): string {
  return `
fastify-allowance relay

  HTTP/1.1  ${url}
  Limits    ${config ?? 'the defaults'}; the environment goes over them
  Messages  ${database ?? 'in memory'}

What is admitted

  of each sender  ${inWords(limits.sender)}
  of everybody    ${inWords(limits.global)}

Try it

${examples(url, limits).replace(/^/gm, '  ')}

`
}

function inWords(counts: Counts): string {
  if (Object.values(counts).includes(-1)) return 'nothing: blocked'
  const limits = WINDOWS.filter((window) => counts[window] > 0).map((window) => `${counts[window]} per ${window}`)
  return limits.join(', ') || 'everything'
}

function examples(url: string, limits: RelayLimits): string {
  const { message, forged, ack } = signedExamples()
  const lines = [
    '# a message, and that it has arrived, signed with keys that were made for this banner',
    `curl -sS --json '${message}' ${url}/messages`,
    `curl -sS --json '${ack}' ${url}/acks`,
    '# the message in the name of somebody who has not signed it',
    `curl -sS --json '${forged}' ${url}/messages`,
    '# only the limits of everybody are about these',
    `curl -sS ${url}/health`,
    `curl -sS ${url}/auth/challenge`,
  ]
  if (Object.values(limits.sender).some((count) => count !== 0 && count <= 1000)) {
    lines.push(
      '# again and again, until it is refused',
      `while curl -sS --fail-with-body --json '${message}' ${url}/messages; do echo; done`,
    )
  }
  return lines.join('\n')
}

function signedExamples() {
  const [ann, bob] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
  const [sender, recipient] = [identityOf(ann.publicKey), identityOf(bob.publicKey)]
  const message = { sender, recipient, content: 'hello' }
  const ack = { sender: recipient, message_id: idOf(message, 'message') }
  return {
    message: JSON.stringify(signFields(message, 'message', ann.privateKey)),
    forged: JSON.stringify({ ...signFields(message, 'message', ann.privateKey), sender: recipient }),
    ack: JSON.stringify(signFields(ack, 'ack', bob.privateKey)),
  }
}
