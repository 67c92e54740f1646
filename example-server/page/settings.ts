import { type Connection, type Credential, connect, type Settings } from './connection.ts'
import { byId, setText } from './dom.ts'

const HINTS = {
  api_key: 'Kept in the memory of this page only.',
  jwt: 'npm run -s token -- --sub alice makes one. Kept in the memory of this page only.',
}

/** The fields that say who calls, where and how. `onChange` is called with each new connection, and with the first. */
export function startSettings(onChange: (connection: Connection) => void): void {
  const identity = byId('identity', HTMLFormElement)
  const secret = byId('secret', HTMLInputElement)
  const secretRow = byId('secret-row', HTMLElement)
  const demoKey = byId('demo-key', HTMLButtonElement)
  const server = byId('server-url', HTMLInputElement)
  let settings: Settings = { url: location.origin, protocol: 'Connect', credential: { kind: 'none' } }
  let caller = new AbortController()

  const change = (part: Partial<Settings>) => {
    const next = { ...settings, ...part }
    if (!isSameCaller(settings, next)) {
      caller.abort()
      caller = new AbortController()
    }
    settings = next
    setText(byId('server-name', HTMLElement), settings.url === location.origin ? 'this server' : settings.url)
    onChange(connect(settings, caller.signal))
  }
  const kind = () => new FormData(identity).get('credential') as Credential['kind']
  const given = () => {
    const text = secret.value.trim()
    return kind() === 'jwt' ? text.replace(/^bearer\s+/i, '') : text
  }
  const useSecret = () => {
    const chosen = kind()
    if (chosen !== 'none') change({ credential: { kind: chosen, secret: given() } })
  }
  const showKind = () => {
    const chosen = kind()
    secretRow.hidden = chosen === 'none'
    secret.value = ''
    secret.setCustomValidity('')
    if (chosen === 'none') return
    setText(byId('secret-label', HTMLElement), chosen === 'api_key' ? 'API key' : 'Token')
    setText(byId('secret-hint', HTMLElement), HINTS[chosen])
    demoKey.hidden = chosen !== 'api_key' || !document.body.dataset.demoKey
  }

  identity.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.name !== 'credential') return
    showKind()
    if (kind() === 'none') change({ credential: { kind: 'none' } })
  })
  secret.addEventListener('input', () => {
    const sendable = /^[\x21-\x7e]*$/.test(given())
    secret.setCustomValidity(sendable ? '' : 'Only visible ASCII characters can be sent in a header.')
  })
  identity.addEventListener('submit', (event) => {
    event.preventDefault()
    useSecret()
  })
  demoKey.addEventListener('click', () => {
    secret.value = document.body.dataset.demoKey ?? ''
    useSecret()
  })

  byId('protocol', HTMLFieldSetElement).addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement) change({ protocol: target.value as Settings['protocol'] })
  })

  server.value = settings.url
  server.addEventListener('input', () => server.setCustomValidity(''))
  byId('server', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    const url = URL.parse(server.value)
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
      server.setCustomValidity('A URL such as http://localhost:5050, without a user.')
      server.reportValidity()
      return
    }
    server.value = url.origin
    // A key that was meant for one server is not for another.
    identity.reset()
    showKind()
    change({ url: url.origin, credential: { kind: 'none' } })
  })

  showKind()
  change({})
}

function isSameCaller(a: Settings, b: Settings): boolean {
  return a.url === b.url && JSON.stringify(a.credential) === JSON.stringify(b.credential)
}
