import { join } from 'node:path'
import t from 'tap'
import { createEventStoreServer, type EventStoreOptions } from '../../example-server/event-store/server.ts'
import { buildPage } from '../../example-server/page-files.ts'
import { launch, newPage } from './chromium.ts'
import { screenshot } from './example-page.ts'

const browser = await launch(t)
const built = await buildPage(join(import.meta.dirname, '../../example-server/page/event-store'))

async function open(options: Partial<EventStoreOptions> = {}) {
  const server = await createEventStoreServer({ cpus: 2, page: built, log: false, ...options })
  t.teardown(() => server.close())
  const url = await server.app.listen({ host: '127.0.0.1', port: 0, listenTextResolver: () => 'listening' })
  const page = await newPage(t, browser)
  await page.goto(url)
  return { server, page }
}

t.test('the management page shows what is stored and what is left, and writes', async (t) => {
  const { server, page } = await open({ requestsPerSecond: 100 })
  await page.locator('#events').getByText('0', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Write it' }).click()
  await page.locator('#events').getByText('1', { exact: true }).waitFor()
  await page.locator('#newest').getByText('/books/42').waitFor()
  t.equal(server.store.eventCount(), 1)
  const meter = page.getByRole('meter', { name: 'Units left' })
  const { max, value: left } = await meter.evaluate(({ max, value }: HTMLMeterElement) => ({ max, value }))
  t.equal(max, 100)
  t.ok(left >= 80 && left < 100, `${left} left`)
  t.comment(await screenshot(page, 'event-store'))
})

t.test('it says when the token is wrong, and when the address is refused', async () => {
  const { page } = await open({ apiToken: 'another', requestsPerSecond: 1 })
  await page.getByText('Without a token').waitFor()
  await page.getByLabel('Kept until').fill('wrong')
  await page.getByRole('button', { name: 'Use it' }).click()
  await page.getByText(/Refused: come again in \d+ s/).waitFor()
})
