import { mkdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type t from 'tap'
import { buildPage } from '../../example-server/page-files.ts'
import { createExampleServer, type ExampleServerOptions } from '../../example-server/server.ts'
import { createLimiter, type RateLimitsOptions } from '../../src/index.ts'
import { newPage, type PageOptions } from './chromium.ts'

const root = resolve(import.meta.dirname, '../..')
const artifacts = join(root, 'artifacts')

type Test = Pick<typeof t, 'teardown'>

const built = buildPage()

/** `{ publish: '2/2' }`: 2 per 2 s. */
export type Limits = Record<string, `${number}/${number}`>

const rateLimits = (limits: Limits): RateLimitsOptions => ({
  maxMemoryMib: 1,
  categories: Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => {
      const [count, windowSeconds] = limit.split('/').map(Number)
      return [name, { default: [{ count: count!, windowSeconds: windowSeconds! }] }]
    }),
  ),
})

/** The example server with its page, on the loopback, in real time. */
export async function startServer(t: Test, limits: Limits = {}, options: ExampleServerOptions = {}) {
  const limiter = createLimiter({ rateLimits: rateLimits(limits) })
  const server = await createExampleServer({ limiter, page: await built, log: false, ...options })
  t.teardown(() => server.close())
  const { http } = await server.listen()
  return { ...server, url: http, otherOrigin: http.replace('127.0.0.1', 'localhost') }
}

/** A new browser on the page of a new server. */
export async function openPage(
  t: Test,
  browser: Browser,
  { limits = {}, ...options }: PageOptions & { limits?: Limits } = {},
) {
  const server = await startServer(t, limits)
  const page = await newPage(t, browser, options)
  await page.goto(server.url)
  await page.getByText('address 127.0.0.1').waitFor()
  return { server, page }
}

/** Keeps a picture of a page as an artifact of the run. */
export async function screenshot(page: Page, name: string): Promise<string> {
  await mkdir(artifacts, { recursive: true })
  const path = join(artifacts, `${name}.png`)
  await page.screenshot({ path, fullPage: true })
  return relative(root, path)
}

/** The whole units that a meter shows. */
export async function units(page: Page, name: string): Promise<number> {
  return Number(await page.getByRole('meter', { name }).getAttribute('aria-valuenow'))
}

/** The lines of the list of what was sent and received, oldest first, without their time. */
export async function logged(page: Page): Promise<string[]> {
  const lines = await page.locator('#log li .what').allTextContents()
  return lines.reverse()
}

/** What the stream has received, oldest first. */
export async function received(page: Page): Promise<string[]> {
  const lines = await page.locator('#received li .what').allTextContents()
  return lines.reverse()
}
