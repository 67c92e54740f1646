import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { buildPage, fill } from '../../example-server/page-files.ts'
import { StartProblem } from '../../example-server/problem.ts'
import { CATEGORIES, DEMO_KEY, LOOPBACK, left, start } from './harness.ts'

const page = await buildPage()
const filesOf = (html: string) => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path!)

t.test('the page and its files are served, and cached for as long as they are the same', async (t) => {
  const { http } = await start(t, {}, { page })
  const answer = await http.inject('/')
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
  t.equal(answer.headers['cache-control'], 'no-cache')
  t.equal(answer.headers['x-content-type-options'], 'nosniff')
  t.notMatch(answer.body, '{{')
  const again = await http.inject({ url: '/', headers: { 'if-none-match': answer.headers.etag as string } })
  t.same([again.statusCode, again.body], [304, ''])

  const files = filesOf(answer.body)
  t.equal(files.length, 3)
  for (const path of files) {
    const file = await http.inject(path)
    t.equal(file.statusCode, 200, path)
    t.match(file.headers['cache-control'], 'immutable')
    t.match(file.headers['content-type'], /^(text\/(javascript|css); charset=utf-8|image\/svg\+xml)$/)
    t.ok(file.body.length > 300)
  }
})

t.test('HEAD says the same without a body, and other methods find nothing', async (t) => {
  const { http } = await start(t, {}, { page })
  for (const path of ['/', ...filesOf((await http.inject('/')).body)]) {
    const get = await http.inject(path)
    const head = await http.inject({ method: 'HEAD', url: path })
    t.same([head.statusCode, head.body], [200, ''])
    for (const name of ['content-type', 'content-length', 'cache-control', 'etag', 'content-security-policy']) {
      t.equal(head.headers[name], get.headers[name], `${path} ${name}`)
    }
    t.equal((await http.inject({ method: 'POST', url: path, payload: 'x' })).statusCode, 404)
  }
})

t.test('its policy lets it run what comes from here, call anybody, and make no HTML of text', async (t) => {
  const { http } = await start(t, {}, { page })
  const { headers, body } = await http.inject('/')
  const policy = Object.fromEntries(
    (headers['content-security-policy'] as string).split('; ').map((part) => part.split(/ (.*)/)),
  )
  t.match(policy, {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'connect-src': 'http: https:',
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
  })
  t.notMatch(body, /<script(?![^>]* src=)|<style| style="| on\w+="/, 'nothing inline')
  t.notMatch(body, /(?:src|href)="(?!\/)/, 'nothing from elsewhere')
})

t.test('the page charges nothing, whoever asks', async (t) => {
  const { http, limiter } = await start(t, Object.fromEntries(CATEGORIES.map((name) => [name, 1])), { page })
  for (const path of ['/', ...filesOf((await http.inject('/')).body)]) {
    await http.inject({ url: path, headers: { 'x-api-key': demo.apiKey } })
    t.equal((await http.inject({ url: path, headers: { 'x-api-key': 'of nobody' } })).statusCode, 200)
  }
  for (const caller of [LOOPBACK, DEMO_KEY]) {
    t.same(left(limiter, caller), Object.fromEntries(CATEGORIES.map((name) => [name, 1])))
  }
})

t.test('the demo key is offered where it is one, and no other key is ever in the page', async (t) => {
  t.match((await (await start(t, {}, { page })).http.inject('/')).body, `data-demo-key="${demo.apiKey}"`)
  const apiKeys = new Map([[demo.apiKeyName, 'secret-of-the-operator']])
  const { http } = await start(t, {}, { page, auth: { apiKeys, issuers: [] } })
  const { body } = await http.inject('/')
  t.match(body, 'data-demo-key=""')
  t.notMatch(body, 'secret-of-the-operator')
})

t.test('there is no page over HTTP/2 without TLS, which no browser speaks, nor where none is given', async (t) => {
  t.equal((await (await start(t, {}, { page })).h2c.inject('/')).statusCode, 404)
  t.equal((await (await start(t)).http.inject('/')).statusCode, 404)
})

t.test('a mistake in the sources stops the start, and says where it is', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'page-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await cp(join(import.meta.dirname, '../../example-server/page'), folder, { recursive: true })
  await writeFile(join(folder, 'main.ts'), 'let x: number =\n\n= 3\n')
  const error = await buildPage(folder).catch((thrown: unknown) => thrown)
  t.ok(error instanceof StartProblem)
  t.match((error as Error).message, /the page cannot be built: .*Unexpected "="[\s\S]*main\.ts:3/)
})

t.test('values in the HTML are text', async (t) => {
  t.equal(fill('<a b="{{x}}">{{y}}', { x: '"><script>&' }), '<a b="&#34;&#62;&#60;script&#62;&#38;">{{y}}')
})
