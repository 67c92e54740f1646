import type { Page } from 'playwright-core'
import t from 'tap'
import { demo } from '../../example-server/demo.ts'
import { launch } from './chromium.ts'
import { logged, openPage } from './example-page.ts'

const browser = await launch(t)

/** Opens whatever can be open, and is refused in both ways. */
async function showEverything(page: Page): Promise<void> {
  await page.getByText('Calls go to this server').click()
  await page.getByRole('radio', { name: 'API key' }).check({ force: true })
  await page.getByLabel('Topic', { exact: true }).fill('a-topic-with-a-long-name'.repeat(8))
  await page.getByLabel('Topic to add').fill('a-topic-with-a-long-name'.repeat(8))
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('button', { name: 'Open the stream' }).click()
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Publish the burst' }).click()
  await page.locator('#received li').first().waitFor()
  await page.getByRole('button', { name: 'Remove greetings' }).click()
  await page.getByRole('button', { name: 'Cancel' }).nth(1).waitFor()
}

const limits = { publish: '2/60', stream_rent: '2/60' } as const

for (const width of [320, 360, 768, 1280]) {
  t.test(`${width} px: nothing goes over the edge, and fingers find everything`, async (t) => {
    const { page } = await openPage(t, browser, { limits, viewport: { width, height: 700 } })
    await showEverything(page)
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), width)
    const small = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('button, summary, input, .check, .switch label')]
        .filter((each) => each.checkVisibility() && !each.closest('.switch, .check')?.contains(each.parentElement))
        .map((each) => ({ name: each.id || each.textContent, height: each.getBoundingClientRect().height }))
        .filter(({ height }) => height < 24),
    )
    t.same(small, [])
  })
}

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(`${colorScheme}: every text stands out from its ground by 4.5 to 1`, async (t) => {
    const { page } = await openPage(t, browser, { limits, colorScheme })
    await showEverything(page)
    const { texts, faint } = await page.evaluate(() => {
      const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
      const luminance = (color: string) => {
        context.fillStyle = color
        context.fillRect(0, 0, 1, 1)
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((byte) => {
          const c = byte / 255
          return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
        })
        return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
      }
      const groundOf = (start: Element): string => {
        for (let at: Element | null = start; at !== null; at = at.parentElement) {
          const { backgroundColor } = getComputedStyle(at)
          if (backgroundColor !== 'rgba(0, 0, 0, 0)') return backgroundColor
        }
        return 'white'
      }
      const shown = [...document.querySelectorAll('body *')].filter(
        (each) =>
          each.checkVisibility() &&
          ([...each.childNodes].some(({ nodeType, textContent }) => nodeType === 3 && textContent!.trim() !== '') ||
            each instanceof HTMLInputElement),
      )
      const weak = shown.flatMap((each) => {
        const [a, b] = [luminance(getComputedStyle(each).color), luminance(groundOf(each))]
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
        return ratio < 4.5 ? [`${each.tagName}.${each.className} ${each.textContent}: ${ratio}`] : []
      })
      return { texts: shown.length, faint: weak }
    })
    t.ok(texts > 40, `${texts} texts`)
    t.same(faint, [])
  })
}

t.test('every field, button and meter has a name, every id is one, and headings are in order', async (t) => {
  const { page } = await openPage(t, browser, { limits })
  await showEverything(page)
  const found = await page.evaluate(() => {
    const all = <E extends Element>(selector: string) => [...document.querySelectorAll<E>(selector)]
    const ids = all('[id]').map(({ id }) => id)
    return {
      lang: document.documentElement.lang,
      unlabelled: all<HTMLInputElement>('input').filter(({ labels }) => !labels?.[0]?.textContent?.trim()).length,
      unnamed: all('button').filter((each) => !(each.ariaLabel ?? each.textContent)?.trim()).length,
      roles: all('[role=meter], [role=progressbar], [role=group], [role=img]').filter((each) => !each.ariaLabel).length,
      twice: ids.filter((id, i) => ids.indexOf(id) !== i),
      dangling: all('[aria-labelledby], [aria-describedby], label[for], output[for]')
        .flatMap((each) =>
          ['aria-labelledby', 'aria-describedby', 'for'].flatMap((name) => each.getAttribute(name)?.split(' ') ?? []),
        )
        .filter((id) => !document.getElementById(id)),
      headings: all('h1, h2, h3').map(({ tagName }) => tagName),
      live: all('[aria-live], [role=status], [role=alert]').length,
    }
  })
  const { headings, live, ...rest } = found
  t.same(rest, { lang: 'en', unlabelled: 0, unnamed: 0, roles: 0, twice: [], dangling: [] })
  t.equal(headings[0], 'H1')
  t.equal(headings.filter((name) => name === 'H1').length, 1)
  t.ok(headings.every((name, i) => i === 0 || Number(name[1]) <= Number(headings[i - 1]![1]) + 1))
  t.ok(live >= 3)
})

t.test('by keyboard alone: sign in, publish until refused, cancel', async (t) => {
  const { page } = await openPage(t, browser, { limits })
  const focused = () =>
    page.evaluate(() => {
      const active = document.activeElement as HTMLInputElement
      const shown = active.type === 'radio' ? active.nextElementSibling! : active
      return {
        name: active.ariaLabel ?? (active.labels?.[0]?.textContent || active.textContent)?.trim(),
        ring:
          Number.parseFloat(getComputedStyle(shown).outlineWidth) > 1 &&
          getComputedStyle(shown).outlineStyle !== 'none',
      }
    })
  const tabTo = async (name: string) => {
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab')
      const now = await focused()
      if (now.name !== '' && !now.ring) t.fail(`one does not see that the focus is on ${now.name}`)
      if (now.name === name) return t.pass(`Tab comes to ${name}`)
    }
    return t.fail(`Tab does not come to ${name}`)
  }

  await tabTo('Address')
  await page.keyboard.press('ArrowRight')
  await tabTo('API key')
  await page.keyboard.type(demo.apiKey)
  await page.keyboard.press('Enter')
  await page.getByText('API key "demo"').waitFor()
  await tabTo('Publish one')
  for (let i = 0; i < 3; i++) await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'Publish, 1 envelope: refused' }).waitFor()
  await tabTo('Cancel')
  await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'Publish, 1 envelope: refused' }).waitFor({ state: 'detached' })
  t.match((await logged(page)).at(-1), 'canceled')
  t.match(await focused(), { name: 'Publish one' }, 'the focus is not lost')
  await tabTo('Open the stream')
  await page.keyboard.press('Space')
  await page.getByRole('status').getByText('open', { exact: true }).waitFor()
})
