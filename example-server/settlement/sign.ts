import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readArguments } from '../arguments.ts'
import { StartProblem } from '../problem.ts'
import { demoKey } from './demo.ts'
import { publicKeyInHex, signedParams } from './signed-call.ts'
import { type MethodName, PAYLOADS } from './submission.ts'

const USAGE = `Usage: npm run -s settlement -- sign [--method METHOD] [--network ID] [--payload HEX] [--key FILE]

Prints a call, signed in the name of a network.

  --method METHOD  sendTx (default) or sendCertificate
  --network ID     default 1
  --payload HEX    what is to be settled, in hexadecimal digits; default: 16 random bytes
  --key FILE       the network's private key of Ed25519, in PEM (openssl genpkey -algorithm ed25519);
                   default: its demo key, which everyone knows
  --public-key     print the public key, as the configuration has it, and no call
`
const OPTIONS = {
  method: { type: 'string' },
  network: { type: 'string' },
  payload: { type: 'string' },
  key: { type: 'string' },
  'public-key': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/**
 * What `sign` prints, for its arguments.
 * @throws {StartProblem} when they are wrong.
 */
export function signAsTold(args: readonly string[]): string {
  const problems: string[] = []
  const values = readArguments(args, OPTIONS, problems)
  if (values.help) return USAGE
  const { method = 'sendTx', network = '1', payload = randomBytes(16).toString('hex') } = values
  if (!Object.hasOwn(PAYLOADS, method)) problems.push(`--method: must be ${Object.keys(PAYLOADS).join(' or ')}`)
  if (!/^\d{1,10}$/.test(network)) problems.push('--network: must be a whole number')
  if (!/^(?:0x)?(?:[0-9a-f]{2})+$/i.test(payload)) problems.push('--payload: must be bytes in hexadecimal digits')
  const key = values.key === undefined ? demoKey(Number(network)) : readKey(values.key, problems)
  if (problems.length > 0) throw new StartProblem(problems)
  const bytes = Buffer.from(payload.replace(/^0x/i, ''), 'hex')
  const params = signedParams(method as MethodName, Number(network), bytes, key!)
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return `${values['public-key'] ? publicKeyInHex(key!) : call}\n`
}

function readKey(file: string, problems: string[]): KeyObject | undefined {
  try {
    const key = createPrivateKey(readFileSync(file))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // What is wrong with it may be shown by the reason.
  }
  problems.push(`--key: must be a file with a private key of Ed25519 in PEM, got ${JSON.stringify(file)}`)
  return undefined
}
