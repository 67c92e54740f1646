import fc from 'fast-check'
import t from 'tap'
import { readTarget } from '../../../example-server/gateway/request-path.ts'

t.test('one spelling for each path', async (t) => {
  const rows: [target: string, path: string, compared: string, query: string][] = [
    ['/', '/', '/', ''],
    ['/a/b?c=//..#'.slice(0, -1), '/a/b', '/a/b', '?c=//..'],
    ['/%61%7e%2D', '/a~-', '/a~-', ''],
    ['/%3a%40%21', '/%3A%40%21', '/:@!', ''],
    ['/caf%c3%a9/%25', '/caf%C3%A9/%25', '/caf%C3%A9/%25', ''],
    ['/...', '/...', '/...', ''],
    ['/a/', '/a/', '/a/', ''],
    ['http://host', '/', '/', ''],
    ['https://host:1/a?b', '/a', '/a', '?b'],
    ['HTTP://host?b', '/', '/', '?b'],
  ]
  for (const [target, ...expected] of rows) {
    const { path, compared, query } = readTarget(target)!
    t.same([path, compared, query], expected, target)
  }
  for (const target of [
    '',
    '*',
    'a',
    '//',
    '/a//b',
    '/.',
    '/..',
    '/a/%2e%2e/b',
    '/..;x/a',
    '/a/.;',
    '/%2f',
    '/%5C',
    '/%00',
    '/%1f',
    '/%7F',
    '/%',
    '/%e9',
    '/a\\b',
    '/a#b',
    '/a b',
    '/ü',
    'ftp://a/b',
    'http:///..',
  ]) {
    t.equal(readTarget(target), undefined, target)
  }
})

t.test('whatever comes out stays as it is, and has no dots and no empty segments to resolve', async () => {
  const part = fc.oneof(
    fc.constantFrom('/', '.', '..', '%2e', '%2F', '%', ';', '\\', '?', '#', 'http://a', '%41', ':', '%3A', '//'),
    fc.string({ maxLength: 3, unit: 'binary' }),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const found = readTarget(`/${parts.join('')}`)
      if (found === undefined) return true
      const again = readTarget(found.path)
      const url = new URL(found.path, 'http://upstream/')
      return (
        again?.path === found.path &&
        again.compared === found.compared &&
        url.host === 'upstream' &&
        decodeURIComponent(url.pathname) === decodeURIComponent(found.path) &&
        !decodeURIComponent(found.path).split(/[\\/]/).includes('..')
      )
    }),
    { numRuns: 3000 },
  )
})
