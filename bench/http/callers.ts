/** Which API key a request is from. */
export const CALLER_HEADER = 'x-caller'

/** Has nothing left. */
export const DENIED_CALLER = { type: 'api_key', name: 'denied' } as const

/** Has more than it can use. */
export const ADMITTED_CALLER = { type: 'api_key', name: 'admitted' } as const
