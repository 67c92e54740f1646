import type { Page } from 'playwright-core'

/** When the calls of Publish began and had their answers, in the page's own milliseconds. */
export const publishTimings = (page: Page) =>
  page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter(({ name }) => name.endsWith('/Publish'))
      .map(({ startTime, responseEnd }) => ({ startTime, responseEnd })),
  )
