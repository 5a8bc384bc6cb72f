import { signal } from '@preact/signals'

export interface Session {
  readonly sessionToken: string
  readonly user: string
  readonly cluster: string
  readonly contextNamespace: string
}

/** Undefined before sign-in and after the session has ended. */
export const session = signal<Session | undefined>(undefined)

const storageKey = 'k8ts-session'

export type SignIn = { readonly type: 'signed-in' } | { readonly type: 'refused'; readonly message: string }

/** Exchanges the one-time token in the address for a session, or continues the session of this tab. */
export async function signIn(): Promise<SignIn> {
  const token = takeToken()
  if (token === undefined) {
    session.value = storedSession()
    if (session.value !== undefined) return { type: 'signed-in' }
    return { type: 'refused', message: 'The address has no token.' }
  }
  const response = await fetch('/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  if (!response.ok) {
    sessionStorage.removeItem(storageKey)
    return { type: 'refused', message: 'The link was used before, or has expired.' }
  }
  const started = (await response.json()) as Session
  sessionStorage.setItem(storageKey, JSON.stringify(started))
  session.value = started
  return { type: 'signed-in' }
}

/** Called when the server no longer accepts the session. */
export function endSession(): void {
  sessionStorage.removeItem(storageKey)
  session.value = undefined
}

export async function signOut(): Promise<void> {
  const token = session.peek()?.sessionToken ?? ''
  endSession()
  await fetch('/session', { method: 'DELETE', headers: { Authorization: `Bearer ${token}` } }).catch(
    () => undefined,
  )
}

/** A link that is opened in a tab of the console changes the fragment only: the page must be loaded again. */
export function watchForLinks(): void {
  addEventListener('hashchange', () => {
    if (new URLSearchParams(location.hash.slice(1)).has('token')) location.reload()
  })
}

/** The token leaves the address at once, so that it is neither in the history nor in a copied address. */
function takeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return undefined
  history.replaceState(null, '', location.pathname)
  return token
}

function storedSession(): Session | undefined {
  const text = sessionStorage.getItem(storageKey)
  return text === null ? undefined : (JSON.parse(text) as Session)
}
