/** A rejection as it goes out. */
export interface WireRejection {
  readonly status: number
  readonly headers: Headers
  /** Absent: the response ends with its headers. */
  readonly body?: Uint8Array | string
}
