/** The `domain` of the ErrorInfo in rate-limit rejections (RATE-040). */
export const DOMAIN = 'xmtp.org'
