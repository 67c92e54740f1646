import type { Route } from './route-table.ts'
import type { Rule } from './rules.ts'

export interface BannerOptions {
  url: string
  routes: readonly Route[]
  nodes: number
  /** Whether the credentials are those of gateway.toml, which everybody knows. */
  isDemo: boolean
}

/** What the gateway says when it has started: where it is, what is bounded, and what to try. */
export function banner({ url, routes, nodes, isDemo }: BannerOptions): string {
  const lines = [
    '',
    `fastify-allowance example gateway: ${url}`,
    '',
    `Each node counts for itself: a number holds per node, of which ${nodes === 1 ? 'one is' : `${nodes} are`} configured.`,
    '',
  ]
  for (const { name, prefix, rules, operations, warnings } of routes) {
    lines.push(`  ${name}  ${prefix}`)
    lines.push(...rules.map((rule) => `    ${inWords(rule)}`))
    for (const { operation, rules: own } of operations) {
      lines.push(...own.map((rule) => `    ${operation}: ${inWords(rule)}`))
    }
    lines.push(...warnings.map((warning) => `    warning: ${warning}`))
  }
  lines.push('', 'Try it', '', ...examples(url, isDemo).map((line) => `  ${line}`), '', '')
  return lines.join('\n')
}

export function inWords({ per, only, count, window }: Rule): string {
  return `${count} in ${window} per ${per}${only === undefined ? '' : `, only for ${only.roles.join(' or ')}`}`
}

function examples(url: string, isDemo: boolean): string[] {
  if (!isDemo) return [`# a page for operators, whose password is admin_token`, `${url}/-/console`]
  return [
    '# again and again, until it is refused',
    `while curl -sS --fail-with-body ${url}/weather/today; do echo; done`,
    '# as a user with the role trial, whose bound is another than that of a partner',
    `curl -sSi -H 'X-Api-Key: demo-token-of-tom' ${url}/shop/orders/42`,
    '# an operation that carries a bound of its own',
    `curl -sSi -H 'X-Api-Key: demo-token-of-petra' --json '{"item":"tea"}' ${url}/shop/orders`,
    '# save a route: its counters start again, and only its',
    `curl -sSi -X PUT -H 'Authorization: Bearer demo-admin-token' --json '{"prefix":"/weather","upstream":"demo","rules":[{"per":"address","count":10,"window":"PT1M"}]}' ${url}/-/admin/routes/weather`,
    '# a page for operators: user admin, password demo-admin-token',
    `${url}/-/console`,
  ]
}
