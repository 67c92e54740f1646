import { readFileSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import { StartProblem } from './problem.ts'

/** How TOML is read; see smol-toml. */
export type TomlOptions = NonNullable<Parameters<typeof parse>[1]>

/** @throws {StartProblem} when the file that `--config` names cannot be read. */
export function readConfigFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartProblem([`--config: must be a file that can be read, got ${JSON.stringify(file)} (${code})`])
  }
}

/** @throws {StartProblem} saying where in `file` its text is no TOML. */
export function parseToml(text: string, file: string, options?: TomlOptions): Record<string, unknown> {
  try {
    return parse(text, options)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    // Only the first line of the message: the others quote the file, where a secret may be.
    const reason = error.message.split('\n', 1)[0]
    throw new StartProblem([`${file}: line ${error.line}, column ${error.column}: must be TOML: ${reason}`])
  }
}
