/** What was sent to one of the routes that are limited by sender, parsed as far as the limiter needs it. */
export interface Submission {
  /** The JSON text, to find in it what parsing does not tell. */
  text: string
  /** Nothing: what was sent is no JSON object in UTF-8. */
  fields?: Readonly<Record<string, unknown>>
  /** Who it says it is from, which may be anybody. Nothing: it says nobody. */
  sender?: string
}

/** The longest `sender`, in UTF-16 units, that is limited by; identities have 64. */
const MAX_SENDER = 256

/** Parses a body and never throws: what makes no sense is told the client once it has passed the limiter. */
export function parseSubmission(body: Buffer): Submission {
  const nothing = { text: '' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    const fields: unknown = JSON.parse(text)
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return nothing
    const submission = { text, fields: fields as Record<string, unknown> }
    const { sender } = submission.fields
    return isSender(sender) ? { ...submission, sender } : submission
  } catch {
    return nothing
  }
}

function isSender(sender: unknown): sender is string {
  return typeof sender === 'string' && sender !== '' && sender.length <= MAX_SENDER
}
