/** The `reason` of the ErrorInfo of every rate-limit rejection. */
export const REASON = 'RATE_LIMITED'
