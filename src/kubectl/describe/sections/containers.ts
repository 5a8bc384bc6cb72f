import type {
  Container,
  ContainerPort,
  ContainerState,
  ContainerStatus,
  EphemeralContainer,
  ResourceRequirements,
  SeccompProfile,
  VolumeDevice,
  VolumeMount,
} from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { DescribeOptions } from '../describer.ts'
import type { DescribeWriter, Entry } from '../describe-writer.ts'
import { describeEnvironment, type FieldValueOf } from './environment.ts'
import { sortedKeys } from './metadata.ts'
import { probeText } from './probe.ts'
import { localTime } from './times.ts'

export interface ContainersOptions extends Pick<DescribeOptions, 'timeZone'> {
  readonly label: string
  readonly containers: readonly (Container | EphemeralContainer)[] | undefined
  /** Absent for a pod template. */
  readonly statuses?: readonly ContainerStatus[] | undefined
  /** The value of a field of the pod; absent for a pod template. */
  readonly fieldValueOf?: FieldValueOf
  /** Spaces before the label; a template has two, and its containers one more than those of a pod. */
  readonly margin: '' | '  '
}

export function describeContainers(writer: DescribeWriter, options: ContainersOptions): void {
  const { label, containers = [], statuses = [], margin } = options
  writer.write(0, `${margin}${label}:${containers.length === 0 ? ' <none>' : ''}\n`)
  for (const container of containers) {
    const status = statuses.findLast(({ name }) => name === container.name)
    writer.write(1, `${margin === '' ? '' : ' '}${container.name}:\n`)
    describeImageAndPorts(writer, container, status)
    describeLines(writer, 'Command', container.command)
    describeLines(writer, 'Args', container.args)
    if (status) describeStatus(writer, status, options)
    describeResources(writer, 2, container.resources)
    writer.fields(2, [
      ['Liveness', probeText(container.livenessProbe)],
      ['Readiness', probeText(container.readinessProbe)],
      ['Startup', probeText(container.startupProbe)],
    ])
    describeEnvironment(writer, container, options.fieldValueOf)
    describeMounts(writer, container)
  }
}

export function describeResources(
  writer: DescribeWriter,
  level: number,
  { limits = {}, requests = {} }: ResourceRequirements = {},
): void {
  for (const [label, list] of [['Limits', limits] as const, ['Requests', requests] as const]) {
    const names = sortedKeys(list)
    if (names.length > 0) writer.write(level, `${label}:\n`)
    writer.fields(
      level + 1,
      names.map(name => [name, list[name]]),
    )
  }
}

export function seccompEntries(profile: SeccompProfile | undefined): readonly Entry[] {
  return [['SeccompProfile', profile?.type]]
}

function describeImageAndPorts(
  writer: DescribeWriter,
  { image, ports, securityContext }: Container,
  status: ContainerStatus | undefined,
): void {
  writer.fields(2, [
    ['Container ID', status && (status.containerID ?? '')],
    ['Image', image ?? ''],
    ['Image ID', status?.imageID],
    portsEntry('Port', ports, 'containerPort'),
    portsEntry('Host Port', ports, 'hostPort'),
    ...seccompEntries(securityContext?.seccompProfile),
  ])
  writer.fields(3, [['LocalhostProfile', localhostProfile(securityContext?.seccompProfile)]])
}

/** Undefined if the profile is not a file of the node. */
export function localhostProfile(profile: SeccompProfile | undefined): string | undefined {
  return profile?.type === 'Localhost' ? (profile.localhostProfile ?? '') : undefined
}

function portsEntry(
  label: string,
  ports: readonly ContainerPort[] = [],
  port: 'containerPort' | 'hostPort',
): Entry {
  const texts = ports.map(each => {
    return `${each[port] ?? 0}/${each.protocol ?? ''}${each.name ? ` (${each.name})` : ''}`
  })
  return [texts.length > 1 ? `${label}s` : label, texts.join(', ') || '<none>']
}

function describeLines(writer: DescribeWriter, label: string, texts: readonly string[] = []): void {
  if (texts.length === 0) return
  writer.write(2, `${label}:\n`)
  for (const text of texts) for (const line of text.split('\n')) writer.write(3, `${line}\n`)
}

function describeStatus(
  writer: DescribeWriter,
  { state = {}, lastState, ready, restartCount }: ContainerStatus,
  options: ContainersOptions,
): void {
  describeState(writer, ['State', state], options)
  if (lastState?.terminated) describeState(writer, ['Last State', lastState], options)
  writer.fields(2, [
    ['Ready', ready ? 'True' : 'False'],
    ['Restart Count', restartCount],
  ])
}

function describeState(
  writer: DescribeWriter,
  [label, { running, terminated, waiting }]: readonly [label: string, state: ContainerState],
  options: ContainersOptions,
): void {
  if (running) {
    writer.fields(2, [[label, 'Running']])
    writer.fields(3, [['Started', localTime(running.startedAt, options)]])
  } else if (terminated && !waiting) {
    const { reason, message, exitCode, signal, startedAt, finishedAt } = terminated
    writer.fields(2, [[label, 'Terminated']])
    writer.fields(3, [
      ['Reason', reason || undefined],
      ['Message', message || undefined],
      ['Exit Code', exitCode],
      ['Signal', signal && signal > 0 ? signal : undefined],
      ['Started', localTime(startedAt, options)],
      ['Finished', localTime(finishedAt, options)],
    ])
  } else {
    writer.fields(2, [[label, 'Waiting']])
    writer.fields(3, [['Reason', waiting?.reason || undefined]])
  }
}

function describeMounts(writer: DescribeWriter, { volumeMounts = [], volumeDevices = [] }: Container): void {
  const none = volumeMounts.length === 0 ? '\t<none>' : ''
  writer.write(2, `Mounts:${none}\n`)
  for (const mount of byText(volumeMounts, ({ mountPath }) => mountPath)) writer.write(3, mountText(mount))
  if (volumeDevices.length === 0) return
  writer.write(2, `Devices:${none}\n`)
  for (const device of byText(volumeDevices, ({ devicePath }) => devicePath)) {
    writer.write(3, deviceText(device))
  }
}

function mountText({ mountPath, name, readOnly, subPath }: VolumeMount): string {
  const path = subPath ? `,path=${quote(subPath)}` : ''
  return `${mountPath} from ${name} (${readOnly ? 'ro' : 'rw'}${path})\n`
}

function deviceText({ devicePath, name }: VolumeDevice): string {
  return `${devicePath} from ${name}\n`
}

/** Sorted by a text of each item. */
export function byText<T>(items: readonly T[], textOf: (item: T) => string): readonly T[] {
  return items.toSorted((left, right) => {
    const [first, second] = [textOf(left), textOf(right)]
    return first < second ? -1 : first > second ? 1 : 0
  })
}
