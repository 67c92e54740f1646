import type { Page } from 'playwright-core'
import t from 'tap'
import { launch } from './chromium.ts'
import { logged, openPage } from './example-page.ts'

const browser = await launch(t)

const moves = {
  async 'another key'(page: Page) {
    await page.getByRole('radio', { name: 'API key' }).check({ force: true })
    await page.getByRole('button', { name: 'Use the demo key' }).click()
    await page.getByText('API key "demo"').waitFor()
  },
  async 'another server'(page: Page, otherOrigin: string) {
    await page.getByText('Calls go to this server').click()
    await page.getByLabel('URL of the server').fill(otherOrigin)
    await page.getByLabel('URL of the server').press('Enter')
    await page.getByText(`Calls go to ${otherOrigin}`).waitFor()
  },
}

for (const [name, move] of Object.entries(moves)) {
  t.test(`${name}: what waits is canceled, and the rest of its burst`, async (t) => {
    const { page, server } = await openPage(t, browser, { limits: { publish: '2/10' } })
    await page.getByLabel('Burst of').fill('4')
    await page.getByRole('button', { name: 'Publish the burst' }).click()
    const refusal = page.getByRole('group', { name: 'Publish, 1 envelope: refused' })
    await refusal.waitFor()
    await move(page, server.otherOrigin)
    await refusal.waitFor({ state: 'detached' })
    t.same((await logged(page)).slice(-2), [
      'Publish, 1 envelope: canceled, calls go out as another caller now',
      '2 of 4 of the burst are not published: calls go out as another caller now',
    ])
    await page.waitForTimeout(200)
    t.equal(server.store.query(['greetings'], 0n, 100).length, 2)
  })
}

t.test('another key: a stream that waits opens anew at once', async (t) => {
  const { page } = await openPage(t, browser, { limits: { stream_rent: '2/60' } })
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Remove greetings' }).click()
  const refusal = page.getByRole('group', { name: 'SubscribeStatic: refused' })
  await refusal.waitFor()
  await moves['another key'](page)
  await refusal.waitFor({ state: 'detached' })
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  t.same((await logged(page)).slice(-3), [
    'SubscribeStatic: waits no longer, calls go out as another caller now',
    'SubscribeStatic, no topics',
    'the stream is open, its rent is paid',
  ])
})

t.test('another protocol is not another caller: what waits goes on waiting', async (t) => {
  const { page } = await openPage(t, browser, { limits: { publish: '1/60' } })
  await page.getByRole('button', { name: 'Publish one' }).click()
  await page.locator('#outcome').getByText('stored as number 1').waitFor()
  await page.getByRole('button', { name: 'Publish one' }).click()
  const refusal = page.getByRole('group', { name: 'Publish, 1 envelope: refused' })
  await refusal.waitFor()
  await page.getByRole('radio', { name: 'gRPC-Web' }).check({ force: true })
  await page.waitForTimeout(100)
  t.ok(await refusal.isVisible())
})
