import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { outcome, run, start } from './program.ts'

const soon = { withinMs: 500 }
const bash = (script: string) => ['bash', '-c', script]

t.test('a program that ends: its code, what it printed, and no input', async (t) => {
  t.same(await outcome(bash('cat; echo out; echo err >&2; exit 3')), { code: 3, stdout: 'out\n', stderr: 'err\n' })
  t.match(await run(['env']), { code: 0, stderr: '' })
  await t.rejects(run(bash('echo out; exit 3')), { message: /^code 3 of bash -c .*; printed:\nout\n$/ })
  await t.rejects(run(bash('kill -9 $$')), { message: /^SIGKILL ended bash / })
  await t.rejects(run(['no-such-program']), { code: 'ENOENT' })
  t.same(await start(t, bash('exit 3')).end(), [3, null])
})

t.test('a program that does not end, or that leaves one which holds its output, is named', async (t) => {
  for (const script of ['echo out; sleep 60 | cat', 'sleep 60 & echo out', 'setsid sleep 2 & echo out']) {
    const message = /^not within 500 ms: the end of bash -c .*sleep .*; printed:\nout\n$/
    await t.rejects(run(bash(script), soon), { message }, script)
  }
  await t.rejects(start(t, bash('sleep 60'), soon).end(), { message: /^not within 500 ms: the end of bash / })
})

t.test('what it started ends with it', async (t) => {
  // Empty of what has ended and is only still to be fetched.
  const commandOf = (pid: string) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  let pid = ''
  await t.test('a test', async (t) => {
    pid = (await start(t, bash('sleep 60 & echo $!; wait')).until(/\d+/))[0]
    t.match(await commandOf(pid), /\S/)
  })
  for (let i = 0; i < 200 && (await commandOf(pid)) !== ''; i++) await setTimeout(10)
  t.equal(await commandOf(pid), '')
})

t.test('what a program prints to standard output is waited for', async (t) => {
  const { until, output } = start(t, bash('printf "one\\ntw"; echo other >&2; echo o; sleep 60'), soon)
  t.equal((await until(/^t(wo)\n/m))[1], 'wo')
  t.equal((await until(/one/))[0], 'one', 'even when it has been printed before')
  await t.rejects(until(/three/), { message: /^not within 500 ms: \/three\/ from bash / })
  t.match(output(), 'other')
  await t.rejects(start(t, bash('echo out; exit 3')).until(/in/), {
    message: /^code 3, signal null instead of \/in\/ from bash .*; printed:\nout\n$/,
  })
})
