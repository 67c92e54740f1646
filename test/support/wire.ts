/** One envelope of a stream of Connect, gRPC or gRPC-Web: a byte of flags, four of length, and the message. */
export interface Envelope {
  readonly flags: number
  readonly data: Buffer
}

/** Takes a body apart, which must end with an envelope. */
export const envelopesOf = (body: Buffer): Envelope[] => {
  const envelopes: Envelope[] = []
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    if (end > body.length) throw new Error(`an envelope ends at byte ${end} of a body of ${body.length}`)
    envelopes.push({ flags: body[at]!, data: body.subarray(at + 5, end) })
    at = end
  }
  return envelopes
}

export const envelope = (data: Uint8Array | string, flags = 0): Buffer => {
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(Buffer.byteLength(data), 1)
  return Buffer.concat([head, Buffer.from(data as string)])
}

/** The trailers of gRPC-Web: header lines as in HTTP/1.1, names in lower case. */
export const trailersIn = (data: Buffer): Record<string, string> =>
  Object.fromEntries(
    data
      .toString()
      .split('\r\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, name, value] = /^([a-z0-9-]+): ?(.*)$/.exec(line) ?? []
        if (name === undefined || value === undefined) throw new Error(`no header line: ${line}`)
        return [name, value]
      }),
  )
