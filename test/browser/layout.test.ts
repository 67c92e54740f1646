import type { Page } from 'playwright-core'
import t from 'tap'
import { launch, newPage } from './chromium.ts'
import { openPage, startServer } from './example-page.ts'

const browser = await launch(t)

const shift = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          const shifts = list.getEntries() as (PerformanceEntry & { value: number })[]
          resolve(shifts.reduce((sum, { value }) => sum + value, 0))
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(0), 500)
      }),
  )

for (const width of [360, 1280]) {
  t.test(`${width} px: nothing moves when the first reading comes, or when there is trouble`, async (t) => {
    const server = await startServer(t)
    const page = await newPage(t, browser, { viewport: { width, height: 740 }, mayLog: /net::ERR_FAILED$/ })
    await page.route('**/GetAllowance', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      await route.continue()
    })
    await page.goto(server.url)
    await page.getByText('address 127.0.0.1').waitFor()
    await page.getByRole('meter').first().waitFor()
    const moved = await shift(page)
    t.ok(moved < 0.02, `moved by ${moved}`)

    const topOf = () => page.locator('#publishing').evaluate((each: HTMLElement) => each.offsetTop)
    const top = await topOf()
    await page.unrouteAll()
    await page.route('**/GetAllowance', (route) => route.abort())
    await page.getByRole('alert').getByText('No answer').waitFor()
    t.equal(await topOf(), top)
  })
}

t.test('with forced colours one sees what is chosen, and the meters', async (t) => {
  const { page } = await openPage(t, browser, { forcedColors: 'active', limits: { publish: '5/60' } })
  const groundOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((each) => getComputedStyle(each).backgroundColor)
  const chosen = await groundOf('.switch input:checked + span')
  t.not(chosen, await groundOf('.switch input:not(:checked) + span'))
  t.equal(await groundOf('.fill'), chosen)
  t.not(await groundOf('.bar'), chosen)
  t.equal(
    await page
      .locator('.bar')
      .first()
      .evaluate((each) => getComputedStyle(each).borderTopWidth),
    '1px',
  )
})
