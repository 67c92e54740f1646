import t from 'tap'
import { launch, newPage } from './chromium.ts'
import { logged, openPage, received, screenshot, startServer, units } from './example-page.ts'

const browser = await launch(t)

/** Publishes past the page, as somebody else would. */
const publisher =
  (t: { equal(found: unknown, wanted: unknown): boolean }, server: Awaited<ReturnType<typeof startServer>>) =>
  async (topic: string, text: string): Promise<void> => {
    const envelope = { topic, applicationMessage: Buffer.from(text).toString('base64') }
    const response = await fetch(`${server.url}/example.v1.BackendService/Publish`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'demo-api-key-of-the-example' },
      body: JSON.stringify({ envelopes: [envelope] }),
    })
    t.equal(response.status, 200)
  }

for (const protocol of ['Connect', 'gRPC-Web']) {
  t.test(
    `RATE-030, RATE-041, the page's stream in ${protocol}: cut for its rent, it comes back and misses nothing`,
    async (t) => {
      const { page, server } = await openPage(t, browser, { limits: { stream_rent: '2/2' } })
      const publish = publisher(t, server)
      await publish('greetings', 'before')
      await page.getByRole('radio', { name: protocol, exact: true }).check({ force: true })
      await page.getByRole('button', { name: 'Open the stream' }).click()
      await page.getByRole('status').getByText('open', { exact: true }).waitFor()
      await page.locator('#received').getByText('before').waitFor()
      t.match(await page.locator('#rent').textContent(), '1 topic: a rent of 2 at each opening')
      await page.getByRole('meter', { name: 'stream_rent' }).and(page.locator('[aria-valuenow="0"]')).waitFor()
      await publish('greetings', 'live')
      await page.locator('#received').getByText('live').waitFor()

      // The rent of the stream that takes its place is denied.
      await page.getByLabel('Topic to add').fill('news')
      await page.getByRole('button', { name: 'Add' }).click()
      const refusal = page.getByRole('group', { name: 'SubscribeStatic: refused' })
      await refusal.waitFor()
      t.match(await refusal.textContent(), 'Refused: no stream_rent left')
      await publish('greetings', 'meanwhile')
      await publish('news', 'of the added topic')
      t.comment(await screenshot(page, `stream-refused-${protocol}`.toLowerCase()))
      await refusal.waitFor({ state: 'detached' })
      await page.locator('#received').getByText('of the added topic').waitFor()
      const texts = await received(page)
      t.same(texts.toSorted(), ['before', 'live', 'meanwhile', 'of the added topic'], 'each once')
      t.match((await logged(page)).at(-1), 'the stream is open, its rent is paid')

      await page.getByRole('button', { name: 'Close the stream' }).click()
      await page.getByRole('status').getByText('closed').waitFor()
      await publish('greetings', 'too late')
      await page.waitForTimeout(100)
      t.equal((await received(page)).length, 4)
    },
  )
}

t.test(
  'RATE-030, the period of a stream that is open is paid, or it ends and waits for as long as its rent takes',
  async (t) => {
    const server = await startServer(t, { stream_rent: '2/3' }, { streams: { periodSeconds: 1 } })
    const page = await newPage(t, browser)
    await page.goto(server.url)
    await page.getByRole('button', { name: 'Open the stream' }).click()
    await page.getByRole('status').getByText('open', { exact: true }).waitFor()
    const refusal = page.getByRole('group', { name: 'SubscribeStatic: refused' })
    await refusal.waitFor()
    t.match(
      await refusal.textContent(),
      /no stream_rent left.* again in [12]\.\d s/,
      'two of the three seconds are left',
    )
    await refusal.waitFor({ state: 'detached' })
    await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  },
)

t.test('a stream that was closed while it waits is not opened sooner by opening it again', async (t) => {
  const { page } = await openPage(t, browser, { limits: { stream_rent: '2/8' } })
  const open = page.getByRole('button', { name: 'Open the stream' })
  await open.click()
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Remove greetings' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('status').getByText('closed').waitFor()
  await open.click()
  await page.getByRole('group', { name: 'SubscribeStatic: held back' }).waitFor()
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  const sent = (await logged(page)).filter((line) => line.startsWith('SubscribeStatic'))
  t.same(sent, ['SubscribeStatic, greetings', 'SubscribeStatic, no topics', 'SubscribeStatic, no topics'])
})

t.test('a stream that waits takes up a topic when its wait is over, not before', async (t) => {
  const { page } = await openPage(t, browser, { limits: { stream_rent: '2/8' } })
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Remove greetings' }).click()
  const refusal = page.getByRole('group', { name: 'SubscribeStatic: refused' })
  await refusal.waitFor()
  await page.getByLabel('Topic to add').fill('news')
  await page.getByRole('button', { name: 'Add' }).click()
  t.ok(await refusal.isVisible())
  await page.locator('#log').getByText('SubscribeStatic, news').waitFor()
  const sent = (await logged(page)).filter((line) => line.startsWith('SubscribeStatic'))
  t.same(sent, ['SubscribeStatic, greetings', 'SubscribeStatic, no topics', 'SubscribeStatic, news'])
})

t.test('topics are added and removed while the stream is open', async (t) => {
  const { page, server } = await openPage(t, browser, { limits: { stream_rent: '120/3600' } })
  const publish = publisher(t, server)
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await publish('greetings', 'one')
  await page.locator('#received').getByText('one').waitFor()
  await page.getByLabel('Topic to add').fill('news')
  await page.getByLabel('Topic to add').press('Enter')
  await page.getByText('2 topics: a rent of 2').waitFor()
  await publish('news', 'two')
  await page.locator('#received').getByText('two').waitFor()
  await page.getByRole('button', { name: 'Remove greetings' }).click()
  await publish('greetings', 'three')
  await publish('news', 'four')
  await page.locator('#received').getByText('four').waitFor()
  t.same(await received(page), ['one', 'two', 'four'])
  t.equal(await units(page, 'stream_rent'), 114, 'three openings at 2 each')
})
