import t from 'tap'
import { launch, newPage } from './chromium.ts'
import { logged, startServer, units } from './example-page.ts'
import { publishTimings } from './timings.ts'

const browser = await launch(t)

t.test('a refused call that is canceled is not sent again', async (t) => {
  const server = await startServer(t, { publish: '1/2' })
  const page = await newPage(t, browser)
  await page.goto(server.url)
  await page.getByText('address 127.0.0.1').waitFor()
  await page.getByLabel('Burst of').fill('3')
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.locator('#outcome').getByText('Publish, 1 envelope: canceled').waitFor()
  await page.waitForTimeout(2200)
  t.equal((await publishTimings(page)).length, 2)
  t.equal(await units(page, 'publish per 2 s'), 1, 'and the meter is full again by itself')
  t.equal(await page.getByText('1 of 3 published').count(), 1)
})

t.test('a burst in one call is stored whole or not at all', async (t) => {
  const server = await startServer(t, { publish: '3/3' })
  const page = await newPage(t, browser)
  await page.goto(server.url)
  await page.getByText('address 127.0.0.1').waitFor()
  await page.getByRole('button', { name: 'Publish one' }).click()
  await page.locator('#outcome').getByText('stored as number 1').waitFor()
  await page.getByLabel('Burst of').fill('3')
  await page.getByLabel('in one call').check()
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.getByRole('group', { name: 'Publish, 3 envelopes: refused' }).waitFor()
  t.equal(server.store.query(['greetings'], 0n, 100).length, 1)
  await page.getByText('3 of 3 published').waitFor()
  t.match((await logged(page)).at(-1), 'stored as numbers 2 to 4, after 1 wait')
})

t.test('while a burst runs, no other is started', async (t) => {
  const server = await startServer(t, { publish: '1/60' })
  const page = await newPage(t, browser)
  await page.goto(server.url)
  await page.getByText('address 127.0.0.1').waitFor()
  await page.getByLabel('Burst of').fill('3')
  const start = page.getByRole('button', { name: 'Publish the burst' })
  await start.click()
  await page.getByRole('group', { name: 'Publish, 1 envelope: refused' }).waitFor()
  t.ok(await start.isDisabled())
  await page.getByLabel('Burst of').press('Enter')
  await start.click({ force: true })
  t.equal(await page.getByRole('group', { name: 'Publish, 1 envelope: refused' }).count(), 1)
  t.equal(await page.getByText('1 of 3 published').count(), 1)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.locator('#outcome').getByText('canceled').waitFor()
  t.ok(await start.isEnabled())
})

t.test('spaces are no topic, and none around one', async (t) => {
  const server = await startServer(t)
  const page = await newPage(t, browser)
  await page.goto(server.url)
  const topic = page.getByLabel('Topic', { exact: true })
  for (const name of ['Publish one', 'Publish the burst']) {
    await topic.fill('  ')
    await page.getByRole('button', { name }).click()
    t.match(await topic.evaluate((field: HTMLInputElement) => field.validationMessage), 'A topic has 1 to 256 bytes')
  }
  t.same(await logged(page), [])
  await topic.fill(' news ')
  await page.getByRole('button', { name: 'Publish one' }).click()
  await page.locator('#outcome').getByText('stored as number 1').waitFor()
  t.equal(server.store.query(['news'], 0n, 100).length, 1)
})
