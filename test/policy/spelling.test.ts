import t from 'tap'
import { didYouMean, nearest, snakeCase } from '../../src/policy/spelling.ts'

t.test('snake_case of option keys', async (t) => {
  t.equal(snakeCase('windowSeconds'), 'window_seconds')
  t.equal(snakeCase('maxMemoryMib'), 'max_memory_mib')
  t.equal(snakeCase('api_key'), 'api_key')
  t.equal(snakeCase('count'), 'count')
})

t.test('the nearest candidate, or none', async (t) => {
  const keys = ['count', 'windowSeconds', 'default', 'api_key']
  t.equal(nearest('defualt', keys), 'default')
  t.equal(nearest('cuont', keys), 'count')
  t.equal(nearest('Count', keys), 'count')
  t.equal(nearest('window', keys), 'windowSeconds')
  t.equal(nearest('apiKey', keys), 'api_key')
  t.equal(nearest('colour', keys), undefined)
  t.equal(nearest('', keys), undefined)
  t.equal(nearest('count', []), undefined)
  t.equal(nearest('count'.repeat(1e6), keys), undefined)
})

t.test('as the end of an error message', async (t) => {
  t.equal(didYouMean('publsh', ['push', 'publish']), ' (did you mean "publish"?)')
  t.equal(didYouMean('zzz', ['push', 'publish']), '')
})
