import t from 'tap'
import { ResponseGuard } from '../../src/connect/response-guard.ts'

const reason = new Error('denied')

t.test('a response that does not fail is what its handler makes of it', async (t) => {
  const guard = new ResponseGuard()
  t.equal(await guard.settle(async () => 'started'), 'started')
  const left: string[] = []
  const messages = async function* () {
    try {
      yield 1
      yield 2
      return
    } finally {
      left.push('left')
    }
  }
  const received: number[] = []
  for await (const message of guard.messages(messages())) received.push(message)
  t.same(received, [1, 2])
  for await (const message of guard.messages(messages())) {
    received.push(message)
    break
  }
  t.same(received, [1, 2, 1])
  t.same(left, ['left', 'left'], 'the handler is left as it would be without')
  const broken = async function* () {
    yield 1
    throw reason
  }
  const iterator = guard.messages(broken())[Symbol.asyncIterator]()
  await iterator.next()
  await t.rejects(iterator.next(), reason)
})

t.test('what the response waits for fails with it, and what comes of that is nobody’s business', async (t) => {
  const guard = new ResponseGuard()
  const { promise, reject } = Promise.withResolvers<string>()
  const waiting = guard.settle(() => promise)
  guard.fail(reason)
  guard.fail(new Error('later'))
  await t.rejects(waiting, reason)
  reject(new Error('of the handler'))
  await new Promise(setImmediate)
  await t.rejects(
    guard.settle(async () => t.fail('started')),
    reason,
  )
})

t.test('a handler that waits for its reader is left at once when the response fails', async (t) => {
  const guard = new ResponseGuard()
  const left: string[] = []
  const messages = async function* () {
    try {
      yield 1
      yield 2
    } finally {
      left.push('left')
    }
  }
  const iterator = guard.messages(messages())[Symbol.asyncIterator]()
  t.same(await iterator.next(), { done: false, value: 1 })
  guard.fail(reason)
  await new Promise(setImmediate)
  t.same(left, ['left'])
  await t.rejects(iterator.next(), reason)
  await t.rejects(iterator.next(), reason)
})

t.test('a handler that throws as it is left, or cannot be left, does no harm', async (t) => {
  const thrower = async function* () {
    try {
      yield 1
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: a handler may do that
      throw new Error('on leaving')
    }
  }
  const bare = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false as const, value: 1 }) }) }
  for (const messages of [thrower(), bare]) {
    const guard = new ResponseGuard()
    const iterator = guard.messages(messages)[Symbol.asyncIterator]()
    await iterator.next()
    guard.fail(reason)
    await t.rejects(iterator.next(), reason)
  }
  await new Promise(setImmediate)
})

t.test('a response that failed before its first message has none', async (t) => {
  const guard = new ResponseGuard()
  guard.fail(reason)
  const messages = async function* () {
    t.fail('started')
    yield 1
  }
  await t.rejects(guard.messages(messages())[Symbol.asyncIterator]().next(), reason)
})
