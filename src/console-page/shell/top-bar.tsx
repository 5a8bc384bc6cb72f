import type { JSX } from 'preact'
import { Icon } from '../components/icon.tsx'
import { connection } from '../data/subscriptions.ts'
import { hrefOf } from '../router/router.ts'
import { session, signOut } from '../data/session.ts'
import { NamespaceSelector } from './namespace-selector.tsx'
import { isDark, switchTheme } from './theme.ts'

export interface TopBarProps {
  readonly onMenu: () => void
  readonly onCommand: () => void
  readonly onKeys: () => void
}

export function TopBar({ onMenu, onCommand, onKeys }: TopBarProps): JSX.Element {
  const { user, cluster } = session.value ?? { user: '', cluster: '' }
  return (
    <header class="top-bar">
      <button type="button" class="icon-button menu-button" onClick={onMenu} aria-label="Navigation">
        <Icon name="menu" />
      </button>
      <a class="brand" href={hrefOf([])}>
        <span class="brand-mark" aria-hidden="true" />
        k8ts
      </a>
      <NamespaceSelector />
      <button
        type="button"
        class="command-button"
        aria-label="Go to"
        aria-keyshortcuts=":"
        onClick={onCommand}
      >
        <Icon name="search" />
        <span>Go to</span>
        <kbd>:</kbd>
      </button>
      <span class="top-bar-space" />
      <ConnectionState />
      <span class="identity" title={`${user} at ${cluster}`}>
        <span class="identity-cluster">{cluster}</span>
        <span class="identity-user">{user}</span>
      </span>
      <button
        type="button"
        class="icon-button"
        onClick={switchTheme}
        aria-label={isDark.value ? 'Light theme' : 'Dark theme'}
      >
        <Icon name={isDark.value ? 'sun' : 'moon'} />
      </button>
      <button type="button" class="icon-button" onClick={onKeys} aria-label="Keys" aria-keyshortcuts="?">
        <Icon name="question" />
      </button>
      <button type="button" class="icon-button" aria-label="Sign out" onClick={() => void signOut()}>
        <Icon name="exit" />
      </button>
    </header>
  )
}

function ConnectionState(): JSX.Element {
  const isLive = connection.value === 'live'
  return (
    <span class={`connection ${isLive ? 'tone-good' : 'tone-warn'}`} role="status">
      <span class="status-mark" aria-hidden="true" />
      <span class="connection-text">{isLive ? 'Live' : 'Reconnecting'}</span>
    </span>
  )
}
