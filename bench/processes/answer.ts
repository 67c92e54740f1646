import type { Answer } from './child.ts'

/** In a child: answers what its parent asks. The first question is the setup, of which `setUp` makes what answers the others. */
export function answer<Setup, Question>(
  setUp: (setup: Setup) => Promise<(question: Question) => unknown> | ((question: Question) => unknown),
): void {
  let respond: ((question: Question) => unknown) | undefined
  process.on('message', async (message) => {
    let answer: Answer
    try {
      if (respond === undefined) {
        respond = await setUp(message as Setup)
        answer = { value: null }
      } else {
        answer = { value: await respond(message as Question) }
      }
    } catch (error) {
      answer = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    }
    process.send?.(answer)
  })
  process.on('disconnect', () => process.exit())
}
