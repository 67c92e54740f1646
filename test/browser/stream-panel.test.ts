import type { Page } from 'playwright-core'
import t from 'tap'
import { launch, newPage } from './chromium.ts'
import { logged, openPage, startServer } from './example-page.ts'

const browser = await launch(t)

const stateOf = (page: Page) => page.getByRole('status').and(page.locator('#stream-state'))
const opened = async (page: Page) => {
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await stateOf(page).getByText('open', { exact: true }).waitFor()
}
const openings = async (page: Page) => (await logged(page)).filter((line) => line.startsWith('SubscribeStatic'))

t.test('why a stream is closed stands where it was opened', async (t) => {
  const { page, server } = await openPage(t, browser, { mayLog: /net::ERR_|status of 503/ })
  await page.getByRole('radio', { name: 'API key' }).check({ force: true })
  await page.getByRole('textbox', { name: 'API key' }).fill('of-nobody')
  await page.locator('#identity').getByRole('button', { name: 'Use it' }).click()
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await stateOf(page).getByText('closed: Unauthenticated: the credentials of the request are not valid').waitFor()

  await page.getByRole('radio', { name: 'Address', exact: true }).check({ force: true })
  await opened(page)
  t.equal(await stateOf(page).textContent(), 'open', 'and goes when it is open')
  await server.close()
  await stateOf(page).getByText('closed: ').waitFor()
  t.comment(await stateOf(page).textContent())
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await stateOf(page).getByText(`closed: no answer from ${server.url}`).waitFor()
  t.match((await logged(page)).at(-1), `no answer from ${server.url}`)
})

t.test('a person who closes a stream, or waits no longer, reads so in the log', async (t) => {
  const server = await startServer(t, { stream_rent: '2/60' })
  const other = await newPage(t, browser)
  await other.goto(server.url)
  await opened(other)
  await other.getByRole('button', { name: 'Close the stream' }).click()
  t.equal((await logged(other)).at(-1), 'the stream is closed')
  t.equal(await stateOf(other).textContent(), 'closed')

  const page = await newPage(t, browser)
  await page.goto(server.url)
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await stateOf(page).getByText('waiting to be let in', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Stop waiting' }).click()
  t.equal((await logged(page)).at(-1), 'the stream waits no longer')
  t.equal(await page.getByRole('button', { name: 'Open the stream' }).count(), 1)
})

t.test('a stream that was open waits to be let in again', async (t) => {
  const { page } = await openPage(t, browser, { limits: { stream_rent: '2/60' } })
  await opened(page)
  await page.getByRole('button', { name: 'Remove greetings' }).click()
  await stateOf(page).getByText('waiting to be let in again').waitFor()
})

t.test('a topic that is there already costs nothing', async (t) => {
  const { page } = await openPage(t, browser)
  await opened(page)
  const added = page.getByLabel('Topic to add')
  await added.fill(' greetings')
  await added.press('Enter')
  t.equal(await added.inputValue(), '')
  await page.waitForTimeout(100)
  t.equal(await page.locator('.chip').count(), 1)
  t.same(await openings(page), ['SubscribeStatic, greetings'])
})

t.test('what cannot be a topic is not added', async (t) => {
  const { page } = await openPage(t, browser)
  const added = page.getByLabel('Topic to add')
  for (const text of ['   ', 'é'.repeat(129)]) {
    await added.fill(text)
    await added.press('Enter')
    t.match(await added.evaluate((field: HTMLInputElement) => field.validationMessage), 'A topic has 1 to 256 bytes')
  }
  t.equal(await page.locator('.chip').count(), 1)
  await added.fill(` ${'é'.repeat(128)} `)
  await added.press('Enter')
  t.equal(await page.locator('.chip').count(), 2)
})
