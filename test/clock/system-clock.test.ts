import t from 'tap'
import { systemClock } from '../../src/index.ts'
import { run } from '../support/program.ts'

t.test('systemClock never goes back, and reads the same in both ways', async (t) => {
  const instant = { seconds: 0, nanos: 0 }
  let last = 0n
  for (let i = 0; i < 100_000; i++) {
    const before = systemClock.now()
    systemClock.readInto!(instant)
    const read = BigInt(instant.seconds) * 1_000_000_000n + BigInt(instant.nanos)
    if (before < last || read < before || instant.nanos > 999_999_999) t.fail(`${last}, ${before}, ${read}`)
    last = read
  }
  t.ok(Math.abs(systemClock.wall() - Date.now()) < 1000)
})

t.test('systemClock never runs anything before it is due', async (t) => {
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      // Odd fractions of a millisecond, for which Node's timers are too coarse.
      const at = systemClock.now() + BigInt(i * 100_003)
      return new Promise<void>((resolve) => {
        const alive = setInterval(() => {}, 1000)
        systemClock.schedule(at, () => {
          clearInterval(alive)
          if (systemClock.now() < at) t.fail(`${at - systemClock.now()} ns early`)
          resolve()
        })
      })
    }),
  )
  t.pass('two hundred ran')
})

t.test('systemClock: far beyond what a timer of Node takes is not at once; what is cancelled never runs', async (t) => {
  let ran = false
  const run = () => {
    ran = true
  }
  const cancels = [2n ** 31n, 2n ** 40n, 2n ** 70n].map((ms) =>
    systemClock.schedule(systemClock.now() + ms * 1_000_000n, run),
  )
  systemClock.schedule(systemClock.now(), run)()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.notOk(ran)
  for (const cancel of cancels) cancel()
})

t.test('systemClock: a timer does not keep the process alive', async (t) => {
  const index = new URL('../../src/index.ts', import.meta.url).href
  const script = `import { systemClock } from '${index}'; systemClock.schedule(systemClock.now() + 3_600_000_000_000n, () => {})`
  await run([process.execPath, '--input-type=module', '--eval', script])
  t.pass('it ended')
})
