import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { token } from '../example-server/harness.ts'
import { launch } from './chromium.ts'
import { logged, openPage, units } from './example-page.ts'

const browser = await launch(t)

t.test('the page says who the server takes you for', async (t) => {
  const { page, server } = await openPage(t, browser, { limits: { publish: '5/60' } })
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  await page.getByText('address 127.0.0.1').waitFor()
  await page.getByRole('button', { name: 'Publish one' }).click()
  await page.locator('#log').getByText('stored as number 1').waitFor()

  await page.getByRole('radio', { name: 'API key' }).check({ force: true })
  await page.getByRole('button', { name: 'Use the demo key' }).click()
  await page.getByText('API key "demo"').waitFor()
  await page.getByRole('meter', { name: 'publish' }).and(page.locator('[aria-valuenow="5"]')).waitFor()

  await page.getByRole('radio', { name: 'Token' }).check({ force: true })
  t.equal(await page.getByRole('textbox', { name: 'Token' }).inputValue(), '', 'the key is gone from the field')
  const secret = await token({ sub: 'alice' })
  await page.getByRole('textbox', { name: 'Token' }).fill(`Bearer ${secret}`)
  await page.locator('#identity').getByRole('button', { name: 'Use it' }).click()
  await page.getByText('user "alice"').waitFor()

  await page.getByRole('textbox', { name: 'Token' }).fill('of nobody')
  await page.locator('#identity').getByRole('button', { name: 'Use it' }).click()
  t.equal(await page.getByText('user "alice"').count(), 1, 'what cannot be a header is not sent')
  await page.getByRole('textbox', { name: 'Token' }).fill('of-nobody')
  await page.locator('#identity').getByRole('button', { name: 'Use it' }).click()
  await page.getByRole('alert').getByText('Unauthenticated').waitFor()
  t.equal(
    await page
      .locator('#left')
      .getByText(/^not known/)
      .first()
      .isVisible(),
    true,
    'nor what was left to alice',
  )

  await page.getByRole('radio', { name: 'Address', exact: true }).check({ force: true })
  await page.getByText('address 127.0.0.1').waitFor()
  t.ok(await page.getByRole('alert').isHidden())

  const kept = await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length)
  t.equal(kept, 0, 'nothing is stored')
  t.notOk(
    [page.url(), ...urls].some((url) => url.includes(secret) || url.includes(demo.apiKey)),
    'nor in any URL',
  )
  t.ok(urls.every((url) => url.startsWith(server.url)))
})

t.test('a key is forgotten when calls go to another server', async (t) => {
  const { page, server } = await openPage(t, browser)
  await page.getByRole('radio', { name: 'API key' }).check({ force: true })
  await page.getByRole('button', { name: 'Use the demo key' }).click()
  await page.getByText('API key "demo"').waitFor()
  await page.getByText('Calls go to this server').click()
  const url = page.getByLabel('URL of the server')
  await url.fill('javascript:alert(1)')
  await url.press('Enter')
  t.equal(await page.getByText('Calls go to this server').count(), 1, 'no URL of a server')
  const asked = page.waitForRequest((request) => request.url().startsWith(server.otherOrigin))
  await url.fill(server.otherOrigin)
  await url.press('Enter')
  t.notOk((await (await asked).allHeaders())['x-api-key'])
  await page.getByText('address 127.0.0.1').waitFor()
})

t.test('the meters refill as one watches, as the server says', async (t) => {
  const { page, server } = await openPage(t, browser, { limits: { publish: '10/5' } })
  await page.getByLabel('Burst of').fill('10')
  await page.getByLabel('in one call').check()
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.getByRole('meter', { name: 'publish' }).and(page.locator('[aria-valuenow="0"]')).waitFor()
  // Whatever is shown on the way is never more than there is.
  const seen = new Set<number>()
  for (;;) {
    const shown = await units(page, 'publish')
    const [left] = server.limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'publish')
    if (shown > left!.units) t.fail(`${shown} shown, ${left!.units} left`)
    seen.add(shown)
    if (shown === 10) break
    await page.waitForTimeout(100)
  }
  t.ok(seen.size >= 10, `${[...seen]}`)
  t.equal(await page.locator('.meter', { hasText: 'per 5 s' }).locator('.full').textContent(), 'full')
})

t.test('what others type is text and nothing else', async (t) => {
  const { page } = await openPage(t, browser)
  const evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
  await page.getByLabel('Topic', { exact: true }).fill(evil)
  await page.getByLabel('Text', { exact: true }).fill(evil)
  await page.getByLabel('Topic to add').fill(evil)
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await page.getByRole('button', { name: 'Publish one' }).click()
  await page.locator('#received').getByText(evil).first().waitFor()
  t.equal(await page.locator('main img, main script').count(), 0)
  t.equal(await page.title(), 'fastify-allowance, live')
})

t.test('a server that is away is said to be away, and found again', async (t) => {
  const { page, server } = await openPage(t, browser, { mayLog: /net::ERR_FAILED$/ })
  await page.route('**/GetAllowance', (route) => route.abort())
  await page.getByRole('alert').getByText(`No answer from ${server.url}.`).waitFor()
  t.match(await page.locator('#caller').textContent(), 'Not known')
  const meters = page.getByRole('meter')
  for (const meter of await meters.all()) t.equal(await meter.getAttribute('aria-valuetext'), 'not known')
  t.ok((await page.locator('.units').allTextContents()).every((text) => text === 'not known'))
  t.notOk(
    (await page.locator('.full').allTextContents()).some((text) => text !== ''),
    'nothing refills',
  )
  await page.unroute('**/GetAllowance')
  await page.getByText('address 127.0.0.1').waitFor()
  t.ok(await page.getByRole('alert').isHidden())
  t.match(await meters.first().getAttribute('aria-valuetext'), /\d left$/)
})

t.test('reading what is left is free', async (t) => {
  const { page, server } = await openPage(t, browser)
  const before = server.limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request')
  let reads = 0
  page.on('request', () => reads++)
  await page.waitForTimeout(4500)
  t.ok(reads >= 1 && reads <= 3, `${reads} readings`)
  t.same(server.limiter.remaining({ type: 'ip', address: '127.0.0.1' }, 'request'), before)
  t.same(await logged(page), [], 'and not worth a line')
})

t.test('a newcomer to a server with wide limits reads how to be refused, and is', async (t) => {
  const { page } = await openPage(t, browser)
  t.ok(await page.getByText('This server admits a lot').isVisible())
  await page.getByLabel('Burst of').fill('1000')
  await page.getByLabel('in one call').check()
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.locator('#outcome').getByText('stored as numbers 1 to 1000').waitFor()
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.getByRole('group', { name: 'Publish, 1,000 envelopes: refused' }).waitFor()
  t.ok(await (await openPage(t, browser, { limits: { publish: '5/60' } })).page.locator('#wide').isHidden())
})

t.test('a call that fails otherwise says so where it was made', async (t) => {
  const { page } = await openPage(t, browser, { mayLog: /status of 400/ })
  await page.getByLabel('Text', { exact: true }).fill('é'.repeat(32_769))
  await page.getByRole('button', { name: 'Publish one' }).click()
  await page.locator('#outcome').getByText('InvalidArgument: envelopes[0].application_message').waitFor()
  t.match((await logged(page)).at(-1), 'InvalidArgument')
})
