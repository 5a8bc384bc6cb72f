import type { JSX } from 'preact'
import type { Container, ContainerState, ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { Age } from '../components/age.tsx'
import { StatusText } from '../components/status-text.tsx'
import type { Tone } from '../format/tone.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { hrefOfObject } from '../router/router.ts'
import { Card } from './fields.tsx'

/** The containers of a pod with their states. */
export function ContainersCard({ resource, object }: ObjectTabProps): JSX.Element {
  const { spec, status, metadata } = object as Pod
  const key = { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' }
  const groups: readonly (readonly [string, readonly Container[], readonly ContainerStatus[]])[] = [
    ['Init', spec?.initContainers ?? [], status?.initContainerStatuses ?? []],
    ['', spec?.containers ?? [], status?.containerStatuses ?? []],
    ['Ephemeral', spec?.ephemeralContainers ?? [], status?.ephemeralContainerStatuses ?? []],
  ]
  return (
    <Card title="Containers" isWide>
      <ul class="containers">
        {groups.flatMap(([group, containers, statuses]) =>
          containers.map(container => (
            <li key={container.name}>
              <ContainerEntry
                group={group}
                container={container}
                status={statuses.find(({ name }) => name === container.name)}
              />
              <p class="container-links">
                <a href={hrefOfObject(resource, key, { tab: 'logs', container: container.name })}>Logs</a>
                <a href={hrefOfObject(resource, key, { tab: 'shell', container: container.name })}>Shell</a>
              </p>
            </li>
          )),
        )}
      </ul>
    </Card>
  )
}

interface ContainerEntryProps {
  readonly group: string
  readonly container: Container
  readonly status: ContainerStatus | undefined
}

function ContainerEntry({ group, container, status }: ContainerEntryProps): JSX.Element {
  const { tone, text, time } = stateOf(status?.state, status?.ready ?? false)
  const { name, image = '', ports = [], resources } = container
  const last = status?.lastState?.terminated
  const amounts = [
    describeAmounts('requests', resources?.requests),
    describeAmounts('limits', resources?.limits),
  ]
  return (
    <div>
      <h3>
        {name}
        {group === '' ? null : <span class="detail"> {group}</span>}
      </h3>
      <p>
        <StatusText tone={tone} text={text} />
        {time === undefined ? null : (
          <>
            {' '}
            for <Age time={time} />
          </>
        )}
        {status && status.restartCount > 0 ? `, ${status.restartCount} restarts` : null}
      </p>
      {status?.state?.waiting?.message ? <p class="detail">{status.state.waiting.message}</p> : null}
      {last ? (
        <p class="detail">
          Last exit: {last.reason} with code {last.exitCode}, <Age time={last.finishedAt} /> ago{' '}
          {last.message}
        </p>
      ) : null}
      <p class="detail">
        <code>{image}</code>
        {ports
          .map(port => ` ${port.name ? `${port.name}:` : ''}${port.containerPort}/${port.protocol ?? 'TCP'}`)
          .join()}
      </p>
      <p class="detail">{amounts.filter(Boolean).join('; ')}</p>
    </div>
  )
}

interface ShownState {
  readonly tone: Tone
  readonly text: string
  readonly time?: string | undefined
}

function stateOf(state: ContainerState | undefined, isReady: boolean): ShownState {
  if (state?.running) {
    const { startedAt } = state.running
    return isReady
      ? { tone: 'good', text: 'Running', time: startedAt }
      : { tone: 'warn', text: 'Running, not ready', time: startedAt }
  }
  if (state?.terminated) {
    const { exitCode, reason, finishedAt } = state.terminated
    return {
      tone: exitCode === 0 ? 'idle' : 'bad',
      text: `${reason ?? 'Terminated'} (${exitCode})`,
      time: finishedAt,
    }
  }
  const reason = state?.waiting?.reason ?? 'Waiting'
  return { tone: /back|err|fail|invalid/i.test(reason) ? 'bad' : 'busy', text: reason }
}

function describeAmounts(title: string, amounts: Readonly<Record<string, string>> = {}): string {
  const texts = Object.entries(amounts).map(([name, amount]) => `${name} ${amount}`)
  return texts.length === 0 ? '' : `${title} ${texts.join(', ')}`
}
