import t from 'tap'
import { launch, newPage } from '../../browser/chromium.ts'
import { ADMIN, start } from './harness.ts'

const routes = `
[[routes]]
name = "bounded"
prefix = "/bounded"
upstream = "UPSTREAM"
openapi = "shop.yaml"
rules = [{ per = "address", count = 100, window = "PT1M" }]
operations = [{ operation = "readOrder", rules = [{ per = "token", count = 7, window = "PT1H" }] }]
[[routes]]
name = "open"
prefix = "/open/${'and-a-long-one'.repeat(8)}"
upstream = "UPSTREAM"
rules = [
  { per = "user", only = { roles = ["partner"] }, count = 1000, window = "PT1M" },
  { per = "user", only = { roles = ["trial", "guest"] }, count = 60, window = "PT1M" },
]
`
const authorization = `Basic ${btoa(`admin:${ADMIN}`)}`

t.test('it lists routes, rules and warnings, and says beside each number that it holds per node', async (t) => {
  const { send, save, upstream } = await start(t, { head: 'nodes = 4', routes })
  const page = async () =>
    (await send('/-/console', { headers: { authorization } })).body.replace(/<[^>]*>|\s+/g, ' ').replace(/ +/g, ' ')
  const text = await page()
  for (const part of [
    '100 in PT1M per node, up to 400 on 4 nodes',
    '7 in PT1H per node, up to 28 on 4 nodes',
    '1000 in PT1M per node, up to 4000 on 4 nodes',
    '60 in PT1M per node',
    'client address everybody',
    'user partner',
    'user trial or guest',
    'GET /orders/{id}',
    'may be told to wait for longer than a window, up to two',
  ]) {
    t.ok(text.includes(part), part)
  }
  t.equal(text.match(/\bin PT1[MH] per node/g)?.length, 4)
  t.equal(text.match(/no bound applies to everybody/g)?.length, 1)
  await save('open', { prefix: '/open', upstream: upstream.url, rules: [{ per: 'route', count: 9, window: 'PT1S' }] })
  t.match(await page(), '9 in PT1S per node')
  t.notMatch(await page(), 'no bound applies to everybody')
})

t.test('it asks for the admin token, runs no scripts, and costs nothing', async (t) => {
  const { send } = await start(t, { routes })
  for (const headers of [
    {},
    { authorization: 'Basic !' },
    { authorization: `Basic ${btoa(ADMIN)}` },
    { authorization: 'Basic' },
  ]) {
    const { status, headers: fields, body } = await send('/-/console', { headers: headers as Record<string, string> })
    t.equal(status, 401)
    t.match(fields['www-authenticate'], /^Basic realm=/)
    t.notMatch(body, 'bounded')
  }
  const { headers } = await send('/-/console', { headers: { authorization } })
  t.match(headers['content-security-policy'], /^default-src 'none'; style-src 'self';/)
  t.equal((await send('/-/console.css')).status, 200)
})

t.test('in a browser: no wider than 360 px, and to be read in both colour schemes', async (t) => {
  const { url } = await start(t, { routes })
  const browser = await launch(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    const httpCredentials = { username: 'admin', password: ADMIN }
    const page = await newPage(t, browser, { viewport: { width: 360, height: 740 }, colorScheme, httpCredentials })
    await page.goto(`${url}/-/console`)
    t.equal(await page.getByRole('table').count(), 3)
    t.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= 360)
    const [ground, text] = (await page.evaluate(
      'const { backgroundColor, color } = getComputedStyle(document.body); [backgroundColor, color].map((c) => c.match(/\\d+/g).reduce((sum, n) => sum + Number(n), 0))',
    )) as [number, number]
    t.ok(colorScheme === 'light' ? ground - text > 300 : text - ground > 300, `${ground} ${text}`)
  }
})
