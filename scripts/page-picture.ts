/** Makes the README's picture of the example server's page anew, with the limits of demo.toml: `npm run picture`. */
import { resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { loadConfig } from '../example-server/config.ts'
import { buildPage } from '../example-server/page-files.ts'
import { createExampleServer } from '../example-server/server.ts'

const root = resolve(import.meta.dirname, '..')
const path = resolve(root, 'example-server/page.png')

const server = await createExampleServer({
  ...loadConfig(resolve(root, 'example-server/demo.toml')),
  page: await buildPage(),
  log: false,
})
const { http } = await server.listen()
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' })
try {
  const page = await browser.newPage({
    viewport: { width: 1200, height: 830 },
    deviceScaleFactor: 0.8,
    colorScheme: 'light',
  })
  await page.goto(http)
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  await page.getByLabel('Burst of').fill('7')
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.getByRole('button', { name: 'Cancel' }).waitFor()
  await page.waitForTimeout(4000)
  await page.screenshot({ path })
  console.log(path)
} finally {
  await browser.close()
  await server.close()
}
