import { blocks, type Report, targetsOf } from './report.ts'

const BEGIN = '<!-- What follows is written by `npm run bench:plots`. -->'
const END = '<!-- What was written by it ends here. -->'

/** A README with what a run has found between its two marks. @throws Error when it has none. */
export function readmeWith(readme: string, report: Report): string {
  const begin = readme.indexOf(BEGIN)
  const end = readme.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`no ${BEGIN} and ${END} in the README`)
  return `${readme.slice(0, begin)}${blocks([BEGIN, ...targetsOf(report)])}\n${readme.slice(end)}`
}
