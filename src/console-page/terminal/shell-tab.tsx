import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { replaceQuery, route } from '../router/router.ts'
import { ExecTerminal } from './exec-terminal.tsx'

/** Shells that are tried in turn. */
const shellCommand = ['/bin/sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash || exec sh']

/** A terminal in a container. */
export function ShellTab({ object, isDeleted }: ObjectTabProps): JSX.Element {
  const { metadata, spec } = object as Pod
  const containers = [...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])].map(
    ({ name }) => name,
  )
  const wanted =
    route.value.query['container'] ?? metadata?.annotations?.['kubectl.kubernetes.io/default-container']
  const container = containers.find(name => name === wanted) ?? containers[0] ?? ''
  const commandLine = useSignal('')
  const session = useSignal(0)
  const state = useSignal('')
  const words = commandLine.value.trim().split(/\s+/).filter(Boolean)
  return (
    <div class="shell-tab">
      <form
        class="toolbar"
        onSubmit={event => {
          event.preventDefault()
          session.value++
        }}
      >
        <select
          aria-label="Container"
          value={container}
          onChange={event => replaceQuery({ container: event.currentTarget.value })}
        >
          {containers.map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <input
          type="text"
          aria-label="Command"
          placeholder="bash or sh"
          value={commandLine.value}
          onChange={event => (commandLine.value = event.currentTarget.value)}
        />
        <button type="submit" class="button" disabled={isDeleted}>
          New session
        </button>
        <p class="detail" role="status">
          {state.value}
        </p>
        <p class="detail">Ctrl-] leaves the terminal</p>
      </form>
      <ExecTerminal
        key={`${metadata?.uid} ${container} ${session.value}`}
        namespace={metadata?.namespace ?? ''}
        pod={metadata?.name ?? ''}
        container={container}
        command={words.length > 0 ? words : shellCommand}
        onState={text => (state.value = text)}
      />
    </div>
  )
}
