/** Why a request is not served; its message goes to the client, and says nothing of what others stored. */
export class Refused extends Error {
  readonly statusCode: number

  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}
