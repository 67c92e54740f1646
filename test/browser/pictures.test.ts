import t from 'tap'
import { launch } from './chromium.ts'
import { openPage, screenshot } from './example-page.ts'

const browser = await launch(t)

t.test('pictures of the page, for the artifacts', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [name, width, height] of [
      ['wide', 1280, 900],
      ['phone', 360, 740],
    ] as const) {
      const { page } = await openPage(t, browser, {
        limits: { request: '20/60', publish: '5/60' },
        viewport: { width, height },
        colorScheme,
      })
      await page.getByRole('button', { name: 'Open the stream' }).click()
      await page.getByLabel('Burst of').fill('7')
      await page.getByRole('button', { name: 'Publish the burst' }).click()
      await page.getByRole('button', { name: 'Cancel' }).waitFor()
      await page.waitForTimeout(300)
      t.match(await screenshot(page, `page-${name}-${colorScheme}`), /\.png$/)
    }
  }
})
