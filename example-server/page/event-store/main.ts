import { byId, element, setText } from '../dom.ts'
import { showAllowance } from './allowance.ts'

const PERIOD_MS = 1000
const NEWEST = 10

let token = document.body.dataset.demoKey ?? ''

const trouble = byId('trouble', HTMLElement)
byId('token', HTMLInputElement).value = token

byId('sign-in', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  token = byId('token', HTMLInputElement).value
  void refresh()
})

byId('write', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  void write()
})

void keepAsking()

async function keepAsking(): Promise<void> {
  for (;;) {
    if (!document.hidden) await refresh()
    await new Promise((resolve) => setTimeout(resolve, PERIOD_MS))
  }
}

async function refresh(): Promise<void> {
  try {
    await call('ping', 'GET')
    if (token === '') return setText(trouble, 'Without a token, only what is left is shown.')
    const status = await call('diagnostics', 'GET')
    if (!status.ok) return setText(trouble, inWords(status.status))
    setText(trouble, '')
    await showStored(await status.json())
  } catch {
    setText(trouble, 'The server does not answer.')
  }
}

async function showStored(status: { events: number; schemas: number; openStreams: number }): Promise<void> {
  const events = byId('events', HTMLElement)
  const isNew = events.textContent !== String(status.events)
  setText(events, String(status.events))
  setText(byId('schemas', HTMLElement), String(status.schemas))
  setText(byId('streams', HTMLElement), String(status.openStreams))
  if (!isNew) return
  const query = `FROM e IN events ORDER BY e.id DESC TOP ${NEWEST} PROJECT INTO { id: e.id, time: e.time, subject: e.subject, type: e.type }`
  const answer = await call('run-eventql-query', 'POST', { query })
  const rows = (await answer.text()).split('\n').filter((line) => line !== '')
  byId('newest', HTMLElement).replaceChildren(
    ...rows.map((row) => {
      const { id, time, subject, type } = JSON.parse(row).payload
      return element('li', '', `${id}  ${time}  ${subject}  ${type}`)
    }),
  )
}

async function write(): Promise<void> {
  try {
    const data: unknown = JSON.parse(byId('data', HTMLTextAreaElement).value)
    const subject = byId('subject', HTMLInputElement).value
    const type = byId('type', HTMLInputElement).value
    const answer = await call('write-events', 'POST', { events: [{ source: 'urn:example:page', subject, type, data }] })
    setText(trouble, answer.ok ? '' : ((await answer.json()).error ?? inWords(answer.status)))
  } catch (error) {
    setText(trouble, error instanceof SyntaxError ? 'The data must be JSON.' : 'The server does not answer.')
  }
}

async function call(route: string, method: string, body?: unknown): Promise<Response> {
  const answer = await fetch(`/api/v1/${route}`, {
    method,
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  showAllowance(answer)
  return answer
}

function inWords(status: number): string {
  if (status === 401) return 'This is not the token of the server.'
  if (status === 429) return 'Too many requests from this address.'
  return `The server answers ${status}.`
}
