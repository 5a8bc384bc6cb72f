import type {
  PodSchedulingGroup,
  PodSpec,
  PodTemplateSpec,
  Toleration,
  TopologySpreadConstraint,
} from '#/api/generated/core/v1.ts'
import { formatLabelSelector } from '#/api/selectors/selector.ts'
import type { DescribeContext } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { byText, describeContainers } from './containers.ts'
import { annotationLines, describeMap } from './metadata.ts'
import { describeVolumes } from './volumes.ts'

export const emptyPodSpec: PodSpec = { containers: [] }

export function describePodTemplate(
  template: PodTemplateSpec | undefined,
  { writer, timeZone }: Pick<DescribeContext, 'writer' | 'timeZone'>,
): void {
  writer.write(0, 'Pod Template:\n')
  if (!template) return writer.write(1, '<unset>')
  const { metadata = {}, spec = emptyPodSpec } = template
  const annotations = Object.keys(metadata.annotations ?? {}).length > 0
  describeMap(writer, '  Labels', metadata.labels)
  if (annotations) writer.list(0, '  Annotations', annotationLines(metadata.annotations))
  writer.fields(1, [['Service Account', spec.serviceAccountName || undefined]])
  const { initContainers = [], containers } = spec
  if (initContainers.length > 0) {
    describeContainers(writer, {
      label: 'Init Containers',
      containers: initContainers,
      margin: '  ',
      timeZone,
    })
  }
  describeContainers(writer, { label: 'Containers', containers, margin: '  ', timeZone })
  describeVolumes(writer, spec.volumes, '  ')
  describeTopologySpreadConstraints(writer, spec.topologySpreadConstraints, '  ')
  writer.fields(1, [['Priority Class Name', spec.priorityClassName || undefined]])
  describeMap(writer, '  Node-Selectors', spec.nodeSelector)
  writer.list(0, '  Tolerations', tolerationLines(spec.tolerations))
  describeSchedulingGroup(writer, spec.schedulingGroup, '  ')
}

export function describeTopologySpreadConstraints(
  writer: DescribeWriter,
  constraints: readonly TopologySpreadConstraint[] = [],
  margin: string,
): void {
  if (constraints.length === 0) return
  const sorted = byText(constraints, ({ topologyKey }) => topologyKey)
  const lines = sorted.map(({ topologyKey, whenUnsatisfiable, maxSkew, labelSelector }) => {
    const selector = labelSelector ? ` for selector ${formatLabelSelector(labelSelector)}` : ''
    return `${topologyKey}:${whenUnsatisfiable} when max skew ${maxSkew} is exceeded${selector}`
  })
  writer.list(0, `${margin}Topology Spread Constraints`, lines)
}

export function describeSchedulingGroup(
  writer: DescribeWriter,
  group: PodSchedulingGroup | undefined,
  margin: string,
): void {
  if (!group) return
  writer.write(0, `${margin}SchedulingGroup:\n`)
  writer.fields(1, [['PodGroupName', group.podGroupName ?? '']])
}

/** `key=value:NoSchedule op=Exists for 300s`. */
export function tolerationLines(tolerations: readonly Toleration[] = []): string[] {
  return byText(tolerations, ({ key = '' }) => key).map(toleration => {
    const { key = '', value = '', effect = '', operator, tolerationSeconds } = toleration
    const taint = `${key}${value && `=${value}`}${effect && `:${effect}`}`
    const parts = [
      ...(taint === '' ? [] : [taint]),
      ...(operator === 'Exists' && value === '' ? ['op=Exists'] : []),
    ]
    const seconds = tolerationSeconds === undefined ? '' : ` for ${tolerationSeconds}s`
    return `${parts.join(' ')}${seconds}`
  })
}
