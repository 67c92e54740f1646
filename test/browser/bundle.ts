import { join } from 'node:path'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'

/**
 * Loads a file of `in-page/` into a page, with all that it imports. Returns a function that calls what the file exports,
 * with arguments and results that are JSON.
 */
export async function load(page: Page, file: string): Promise<(name: string, ...args: unknown[]) => Promise<unknown>> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'in-page', file)],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'loaded',
    platform: 'browser',
    target: 'es2022',
  })
  await page.addScriptTag({ content: outputFiles[0]!.text })
  return (name, ...args) => page.evaluate(`loaded.${name}(...${JSON.stringify(args)})`)
}
