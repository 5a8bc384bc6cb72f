import { qosClassOf } from '#/api/core/qos-class.ts'
import type { Container, ObjectFieldSelector, Pod } from '#/api/generated/core/v1.ts'
import { annotationOf } from '#/api/metadata.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import type { Entry } from '../describe-writer.ts'
import {
  describeContainers,
  describeResources,
  localhostProfile,
  seccompEntries,
} from '../sections/containers.ts'
import { describeEventsOf, targetOf } from '../sections/events.ts'
import { controlledBy, describeAnnotations, describeLabels, describeMap } from '../sections/metadata.ts'
import {
  describeSchedulingGroup,
  describeTopologySpreadConstraints,
  emptyPodSpec,
  tolerationLines,
} from '../sections/pod-template.ts'
import { localTime, timeSince } from '../sections/times.ts'
import { describeVolumes } from '../sections/volumes.ts'

export const describePod: Describer<Pod> = async (pod, context) => {
  const { writer } = context
  const { spec = emptyPodSpec, status = {} } = pod
  describePlace(pod, context)
  describeLabels(writer, pod)
  describeAnnotations(writer, pod)
  describeStatus(pod, context)
  if (spec.resources) {
    writer.write(0, 'Resources:\n')
    describeResources(writer, 1, spec.resources)
  }
  describeAllContainers(pod, context)
  describeConditions(pod, context)
  describeVolumes(writer, spec.volumes, '')
  writer.fields(0, [['QoS Class', status.qosClass || qosClassOf(pod)]])
  describeMap(writer, 'Node-Selectors', spec.nodeSelector)
  writer.list(0, 'Tolerations', tolerationLines(spec.tolerations))
  describeTopologySpreadConstraints(writer, spec.topologySpreadConstraints, '')
  describeSchedulingGroup(writer, spec.schedulingGroup, '')
  // The kubelet reports events of a static pod with the uid that the pod has on the node.
  const uid = annotationOf(pod, 'kubernetes.io/config.mirror') ?? pod.metadata.uid
  await describeEventsOf([{ ...targetOf(pod), kind: undefined, uid }], context)
}

function describePlace({ metadata, spec, status }: Pod, context: DescribeContext): void {
  const { priority, priorityClassName, runtimeClassName, serviceAccountName, nodeName } = spec ?? emptyPodSpec
  context.writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Priority', priority],
    ['Priority Class Name', priorityClassName || undefined],
    ['Runtime Class Name', runtimeClassName || undefined],
    ['Service Account', serviceAccountName || undefined],
    ['Node', nodeName ? `${nodeName}/${status?.hostIP ?? ''}` : '<none>'],
    ['Start Time', status?.startTime && localTime(status.startTime, context)],
  ])
}

function describeStatus(pod: Pod, context: DescribeContext): void {
  const { writer } = context
  const { metadata, spec, status = {} } = pod
  const seccompProfile = spec?.securityContext?.seccompProfile
  const isFinished = status.phase === 'Failed' || status.phase === 'Succeeded'
  const phase: Entry[] =
    metadata.deletionTimestamp && !isFinished
      ? [
          ['Status', `Terminating (lasts ${timeSince(metadata.deletionTimestamp, context)})`],
          ['Termination Grace Period', `${metadata.deletionGracePeriodSeconds ?? 0}s`],
        ]
      : [['Status', status.phase ?? '']]
  const ips = status.podIPs ?? []
  writer.fields(0, [
    ...phase,
    ['Reason', status.reason || undefined],
    ['Message', status.message || undefined],
    ...seccompEntries(seccompProfile),
    ['LocalhostProfile', localhostProfile(seccompProfile)],
    ['IP', status.podIP ?? ''],
    ['IPs', ips.length === 0 ? '<none>' : undefined],
  ])
  if (ips.length > 0) writer.write(0, 'IPs:\n')
  writer.fields(
    1,
    ips.map(({ ip }) => ['IP', ip ?? '']),
  )
  writer.fields(0, [controlledBy(pod), ['NominatedNodeName', status.nominatedNodeName || undefined]])
}

function describeAllContainers(pod: Pod, { writer, timeZone }: DescribeContext): void {
  const { spec = emptyPodSpec, status = {} } = pod
  const shared = { fieldValueOf: fieldValueOf(pod), margin: '', timeZone } as const
  const optional = (list: readonly Container[] | undefined): boolean => (list ?? []).length > 0
  if (optional(spec.initContainers)) {
    describeContainers(writer, {
      ...shared,
      label: 'Init Containers',
      containers: spec.initContainers,
      statuses: status.initContainerStatuses,
    })
  }
  describeContainers(writer, {
    ...shared,
    label: 'Containers',
    containers: spec.containers,
    statuses: status.containerStatuses,
  })
  if (optional(spec.ephemeralContainers)) {
    describeContainers(writer, {
      ...shared,
      label: 'Ephemeral Containers',
      containers: spec.ephemeralContainers,
      statuses: status.ephemeralContainerStatuses,
    })
  }
}

/** Only these two fields are known without the node, as in kubectl. */
function fieldValueOf({ metadata }: Pod): (field: ObjectFieldSelector) => string {
  return ({ fieldPath }) => {
    if (fieldPath === 'metadata.name') return metadata.name ?? ''
    return fieldPath === 'metadata.namespace' ? (metadata.namespace ?? '') : ''
  }
}

function describeConditions({ spec, status }: Pod, { writer }: DescribeContext): void {
  const conditions = status?.conditions ?? []
  const gates = spec?.readinessGates ?? []
  if (gates.length > 0) {
    writer.write(0, 'Readiness Gates:\n')
    writer.rows(1, [
      ['Type', 'Status'],
      ...gates.map(({ conditionType }) => {
        const condition = conditions.find(({ type }) => type === conditionType)
        return [`${conditionType} `, `${condition?.status ?? '<none>'} `]
      }),
    ])
  }
  if (conditions.length === 0) return
  writer.write(0, 'Conditions:\n')
  writer.rows(1, [
    ['Type', 'Status'],
    ...conditions.map(condition => [`${condition.type} `, `${condition.status} `]),
  ])
}
