/** Whether it is HTTP/2, of the versions of HTTP that servers are measured with. */
export const versions = [false, true]

export function versionOf(http2: boolean): string {
  return http2 ? 'h2c' : 'HTTP/1.1'
}
