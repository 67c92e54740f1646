/** Header fields by lower-case name, each once. */
export type Fields = readonly (readonly [name: string, value: string])[]

/** A rejection as it goes out. */
export interface WireRejection<H extends Headers | Fields = Headers> {
  readonly status: number
  readonly headers: H
  /** Absent: the response ends with its headers. Of a string each character is a byte. */
  readonly body?: Uint8Array | string
}
