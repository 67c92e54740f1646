import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createGuard } from './admin.ts'
import { type Html, html } from './html.ts'
import type { Route, RouteTable } from './route-table.ts'
import type { Rule } from './rules.ts'

export interface ConsoleOptions {
  table: RouteTable
  adminToken?: string | undefined
  nodes: number
}

const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const PER_WORDS = {
  route: 'the whole route',
  user: 'user',
  token: 'API token',
  organisation: 'organisation',
  address: 'client address',
} as const

/** The console: `GET /-/console`, a page that lists the routes and their rules. The password is the admin token. */
export function addConsole(app: FastifyInstance, { table, adminToken, nodes }: ConsoleOptions): void {
  const css = readFileSync(join(import.meta.dirname, 'console.css'), 'utf8')
  const config = { allowance: { free: true as const } }
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
  app.get('/-/console.css', { config }, (_request, reply) =>
    reply.headers(headers).type('text/css; charset=utf-8').send(css),
  )
  app.get('/-/console', { config, onRequest: createGuard(adminToken, 'Basic') }, (_request, reply) =>
    reply
      .headers({ ...headers, 'content-security-policy': POLICY })
      .type('text/html; charset=utf-8')
      .send(page(table.all(), nodes).text),
  )
}

function page(routes: readonly Route[], nodes: number): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gateway: routes and rate limits</title>
<link rel="stylesheet" href="/-/console.css">
</head>
<body>
<header>
<h1>Routes and rate limits</h1>
<p>Each node counts for itself, in memory: every number here holds <strong>per node</strong>.
${nodes > 1 ? html`${nodes} nodes are configured, which let up to ${nodes} times as much through.` : 'One node is configured.'}
A refused caller may be told to wait for longer than a window, up to two: what one window counted fades away over the next.
Saving a route sets its counters back to 0, and no others. What is saved holds until the gateway stops; the configuration file stays as it is.</p>
</header>
<main>
${routes.length === 0 ? html`<p>There are no routes.</p>` : routes.map((route) => section(route, nodes))}
</main>
</body>
</html>
`
}

function section(route: Route, nodes: number): Html {
  const { name, prefix, upstream, rules, operations, openapi, warnings } = route
  return html`<section>
<h2>${name}</h2>
<p class="path"><code>${prefix}</code> → <code>${upstream.href}</code></p>
${warnings.map((warning) => html`<p class="warning"><strong>Warning:</strong> ${warning}.</p>`)}
${rules.length === 0 ? html`<p>No rules of its own.</p>` : table(`Rules of ${name}`, rules, nodes)}
${operations.length === 0 ? '' : html`<h3>Operations of ${openapi ?? ''}, on top</h3>`}
${operations.map(({ operation, rules: own }) => html`<h4><code>${operation}</code></h4>${table(`Rules of ${operation}`, own, nodes)}`)}
</section>
`
}

function table(label: string, rules: readonly Rule[], nodes: number): Html {
  return html`<table aria-label="${label}">
<thead><tr><th scope="col">Per</th><th scope="col">Only for</th><th scope="col">At most</th></tr></thead>
<tbody>
${rules.map(
  ({ per, only, count, window }) => html`<tr>
<td>${PER_WORDS[per]}</td>
<td>${only === undefined ? 'everybody' : only.roles.join(' or ')}</td>
<td><span class="number">${count} in ${window}</span> <small>per node${nodes > 1 ? `, up to ${count * nodes} on ${nodes} nodes` : ''}</small></td>
</tr>
`,
)}</tbody>
</table>`
}
