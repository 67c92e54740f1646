import type { SettlementConfig } from './config.ts'
import type { Rates } from './rates.ts'

export interface BannerOptions {
  url: string
  config: SettlementConfig
  /** Where the config comes from. */
  file: string
  /** Where what has been settled is kept. */
  database?: string | undefined
}

/** What the server says when it has started: where it is, what each network may settle, and what to try. */
export function banner({ url, config, file, database }: BannerOptions): string {
  const networks = [...config.networks].map(([id, { rates }]) => `  network ${id}  ${inWords(rates)}`)
  return `
fastify-allowance settlement

  HTTP/1.1  ${url}
  Networks  ${file}
  Settled   ${database ?? 'in memory'}
  Epochs    ${config.epochSeconds} s each

What each network may settle

${networks.join('\n')}

Try it

${examples(url).replace(/^/gm, '  ')}

`
}

function inWords({ sendTx, sendCertificate }: Rates): string {
  const tx = typeof sendTx === 'string' ? sendTx : `${sendTx.maxPerInterval} in any ${sendTx.intervalSeconds} s`
  const certificate = typeof sendCertificate === 'string' ? sendCertificate : `${sendCertificate.maxPerEpoch} an epoch`
  return `sendTx ${tx}; sendCertificate ${certificate}`
}

function examples(url: string): string {
  const call = (options = '') => `npm run -s settlement -- sign${options} | curl -sS --json @- ${url}`
  return [
    '# a transaction of network 1, signed with its demo key',
    call(),
    '# a certificate of network 3',
    call(' --network 3 --method sendCertificate'),
    '# by a network that the server does not know',
    call(' --network 4'),
    '# again and again, until it is refused',
    `until ${call()} | grep rate-limited; do :; done`,
  ].join('\n')
}
