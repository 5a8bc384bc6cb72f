import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Notice } from '../components/notice.tsx'
import { discover, discovery } from '../data/discovery.ts'
import { useKeys } from '../keyboard/key-bindings.ts'
import { isTyping } from '../keyboard/key-name.ts'
import { goBack } from '../router/router.ts'
import { session } from '../data/session.ts'
import { Announcement } from './announce.tsx'
import { CommandBar } from './command-bar.tsx'
import { KeyOverview } from './key-overview.tsx'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'
import { ViewOutlet } from './view-outlet.tsx'

const discoveryIntervalMs = 60_000

/** The whole page. Without a session it says how to get one. */
export function App({ refusal }: { readonly refusal: string | undefined }): JSX.Element {
  return session.value === undefined ? <SignedOut message={refusal} /> : <Shell />
}

function SignedOut({ message }: { readonly message: string | undefined }): JSX.Element {
  useEffect(() => {
    document.title = 'Signed out - k8ts'
  }, [])
  return (
    <main class="signed-out">
      <h1>
        <span class="brand-mark" aria-hidden="true" />
        k8ts console
      </h1>
      <Notice tone="warn" title="Not signed in" detail={message ?? 'The session has ended.'}>
        <p>
          Run <code>k8ts console</code> and open the link that it prints. A link works once.
        </p>
      </Notice>
    </main>
  )
}

type Overlay = 'none' | 'command' | 'keys'

function Shell(): JSX.Element {
  const overlay = useSignal<Overlay>('none')
  const sidebarOpen = useSignal(false)
  useEffect(() => {
    void discover()
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void discover()
    }, discoveryIntervalMs)
    return () => clearInterval(timer)
  }, [])
  const close = (): void => {
    overlay.value = 'none'
  }
  useKeys([
    { keys: ':', title: 'Go to a resource, view or namespace', run: () => (overlay.value = 'command') },
    { keys: '?', title: 'Show all keys', run: () => (overlay.value = 'keys') },
    { keys: 'Escape', title: 'Back', run: leave },
  ])
  return (
    <div class={`shell${sidebarOpen.value ? ' has-sidebar' : ''}`}>
      <a class="skip-link" href="#content" onClick={focusContent}>
        Skip to content
      </a>
      <TopBar
        onMenu={() => (sidebarOpen.value = !sidebarOpen.value)}
        onCommand={() => (overlay.value = 'command')}
        onKeys={() => (overlay.value = 'keys')}
      />
      <Sidebar onNavigate={() => (sidebarOpen.value = false)} />
      <main id="content" class="content" tabIndex={-1}>
        {discovery.value.phase === 'failed' ? (
          <Notice tone="bad" title="The API server does not answer" detail={discovery.value.message} />
        ) : null}
        <ViewOutlet />
      </main>
      {overlay.value === 'command' ? <CommandBar onClose={close} /> : null}
      {overlay.value === 'keys' ? <KeyOverview onClose={close} /> : null}
      <Announcement />
    </div>
  )
}

/** The link must not change the address, which is that of the view. */
function focusContent(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#content')?.focus()
}

function leave(): void {
  const field = document.activeElement
  if (field instanceof HTMLElement && isTyping(field)) field.blur()
  else goBack()
}
