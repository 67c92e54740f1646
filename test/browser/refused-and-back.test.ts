import type { Response } from 'playwright-core'
import t from 'tap'
import { launch, newPage } from './chromium.ts'
import { logged, received, screenshot, startServer, units } from './example-page.ts'
import { publishTimings } from './timings.ts'
import { delayIn } from './wire-delay.ts'

/** Publish refills 1 unit every two seconds: a third is refused for so long at most. */
const limits = { publish: '2/4', request: '1000/60' } as const

const isPublish = (response: Response) => response.url().endsWith('/Publish') && response.request().method() === 'POST'

const browser = await launch(t)

for (const protocol of ['Connect', 'gRPC-Web']) {
  for (const origin of ['same-origin', 'cross-origin']) {
    t.test(`RATE-041, the page in ${protocol}, ${origin}: refused, and through when the countdown ends`, async (t) => {
      const server = await startServer(t, limits)
      const page = await newPage(t, browser)
      await page.goto(server.url)
      if (origin === 'cross-origin') {
        await page.getByText('Calls go to this server').click()
        await page.getByLabel('URL of the server').fill(server.otherOrigin)
        await page.locator('#server').getByRole('button', { name: 'Use it' }).click()
        await page.getByText(`Calls go to ${server.otherOrigin}`).waitFor()
      }
      await page.getByRole('radio', { name: protocol, exact: true }).check({ force: true })
      await page.getByText('address 127.0.0.1').waitFor()
      await page.getByRole('button', { name: 'Open the stream' }).click()
      await page.getByRole('status').getByText('open', { exact: true }).waitFor()
      t.equal(await units(page, 'publish per 4 s'), 2)

      await page.getByLabel('Burst of').fill('2')
      await page.getByRole('button', { name: 'Publish the burst' }).click()
      await page.getByText('2 of 2 published').waitFor()
      const refused = page.waitForResponse(isPublish)
      await page.getByRole('button', { name: 'Publish one' }).click()
      const delayMs = delayIn(await (await refused).body())
      t.ok(delayMs > 0 && delayMs <= 2000, `the server says ${delayMs} ms`)

      const refusal = page.getByRole('group', { name: 'Publish, 1 envelope: refused' })
      await refusal.waitFor()
      t.match(await refusal.textContent(), /^Refused: no publish leftPublish, 1 envelope will be sent again in /)
      t.equal(await units(page, 'publish per 4 s'), 0, 'the meter says so too')
      t.match(await page.locator('#announcement').textContent(), /^Refused: no publish left\..* again in \d\.\d s\.$/)
      t.comment(await screenshot(page, `refused-${protocol}-${origin}`.toLowerCase()))
      await refusal.waitFor({ state: 'detached' })
      t.same((await logged(page)).slice(-2), ['Publish, 1 envelope, again', 'stored as number 3, after 1 wait'])

      const [, , first, retry, ...more] = await publishTimings(page)
      t.same(more, [], 'refused once, and then through')
      const waitedMs = retry!.startTime - first!.responseEnd
      t.ok(
        waitedMs >= delayMs,
        `sent again ${waitedMs} ms after the refusal, and not before the ${delayMs} ms are over`,
      )
      t.ok(waitedMs < delayMs + 500, 'but right then')

      await page.locator('#received li').nth(2).waitFor()
      t.same(await received(page), ['hello 1', 'hello 2', 'hello'], 'the stream delivered all of it')
    })
  }
}
