/** The topic in a field, without spaces around it; or undefined, and the field says what a topic is. */
export function topicIn(field: HTMLInputElement): string | undefined {
  const topic = field.value.trim()
  const bytes = new TextEncoder().encode(topic).length
  // The server counts bytes, `maxlength` characters.
  if (bytes > 0 && bytes <= field.maxLength) return topic
  field.setCustomValidity(
    `A topic has 1 to ${field.maxLength} bytes, not counting spaces around it; this has ${bytes}.`,
  )
  field.reportValidity()
  return undefined
}
