import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type t from 'tap'

type Test = Pick<typeof t, 'teardown'>

export interface PageOptions extends BrowserContextOptions {
  /** What the console may say besides. */
  mayLog?: RegExp
}

/** Debian's Chromium, or what the variable CHROMIUM names. */
export async function launch(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // Less than the test runner gives to a file.
    timeout: 45_000,
  })
  t.teardown(() => browser.close())
  return browser
}

/**
 * A new page, in a browser profile of its own. The test fails when something has gone wrong in it: an exception, a
 * line in the console (the browser itself notes each answer 429, and what Connect sends as 401), or a violation of its
 * Content-Security-Policy.
 */
export async function newPage(t: Test, browser: Browser, { mayLog, ...options }: PageOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    const isRefusal = /^Failed to load resource: the server responded with a status of (429|401) /.test(message.text())
    if (!isRefusal && !mayLog?.test(message.text())) faults.push(`${message.type()}: ${message.text()}`)
  })
  await page.addInitScript(`
    addEventListener('securitypolicyviolation', (event) => console.error('CSP ' + event.violatedDirective))
  `)
  t.teardown(async () => {
    await context.close()
    if (faults.length > 0) throw new Error(`in the page:\n${faults.join('\n')}`)
  })
  return page
}
