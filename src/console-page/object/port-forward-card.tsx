import type { JSX } from 'preact'
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { CopyButton } from '../components/copy-button.tsx'
import type { ObjectTabProps } from '../object-tabs.ts'
import { Card } from './fields.tsx'
import { portForwardCommand } from './port-forward-command.ts'

/** A browser cannot listen on a port, so this shows the commands that do. */
export function PortForwardCard({ resource, object }: ObjectTabProps): JSX.Element | null {
  const { name = '', namespace = '' } = object.metadata
  const ports = resource.kind === 'Service' ? servicePorts(object as Service) : podPorts(object as Pod)
  if (ports.length === 0) return null
  const target = `${resource.singular}/${name}`
  return (
    <Card title="Port forward">
      <ul class="plain-list">
        {ports.map(port => {
          const command = portForwardCommand({ target, namespace, port })
          return (
            <li key={port} class="command">
              <code>{command}</code>
              <CopyButton text={command} />
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

function servicePorts({ spec }: Service): number[] {
  return (spec?.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP').map(({ port }) => port)
}

function podPorts({ spec }: Pod): number[] {
  return (spec?.containers ?? [])
    .flatMap(({ ports = [] }) => ports)
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .map(({ containerPort }) => containerPort)
}
