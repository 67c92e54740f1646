import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export const text = readFileSync(resolve(root, 'README.md'), 'utf8')

/** The fenced blocks of the README: `file` for those that name one (```ts file=server.ts), in order. */
export const blocks = [...text.matchAll(/^```(\w+)(?: file=(\S+))?\n(.*?)^```$/gms)].map(
  ([, language, file, content]) => ({ language: language!, file, content: content! }),
)

/** The one block of a language that begins so. */
export function block(language: string, start: string): string {
  const found = blocks.filter((each) => each.language === language && each.content.startsWith(start))
  if (found.length !== 1) throw new Error(`README.md has ${found.length} ${language} blocks that begin with ${start}`)
  return found[0]!.content
}
