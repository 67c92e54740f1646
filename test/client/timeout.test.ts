import t from 'tap'
import { copyOf, timeoutOf } from '../../src/client/timeout.ts'

t.test(
  'the time limit of a call is read from the header that Connect writes, and written as what is left',
  async (t) => {
    const rows: [name: string, value: string, leftMs: number, left: string][] = [
      ['connect-timeout-ms', '10000', 8498.2, '8499'],
      ['connect-timeout-ms', '0.5', 0.25, '1'],
      ['grpc-timeout', '10000m', 8498.2, '8499m'],
      ['grpc-timeout', '10000m', -1, '1m'],
    ]
    for (const [name, value, leftMs, left] of rows) {
      const request = { header: new Headers({ [name]: value, 'x-mine': 'kept' }) }
      const timeout = timeoutOf(request.header)
      t.equal(timeout?.ms, Number.parseFloat(value))
      const { header } = copyOf(request, timeout, leftMs)
      t.same(Object.fromEntries(header), { [name]: left, 'x-mine': 'kept' })
      t.equal(request.header.get(name), value, 'the original is left alone')
    }
  },
)

t.test('what Connect does not write is no limit, and left as it is', async (t) => {
  for (const value of ['', 'soon', '1.2.3', '-1', '5S', '1e3', 'NaN']) {
    for (const name of ['connect-timeout-ms', 'grpc-timeout']) {
      const request = { header: new Headers({ [name]: value }) }
      t.equal(timeoutOf(request.header), undefined)
      t.equal(copyOf(request, undefined, Infinity).header.get(name), value)
    }
  }
})
