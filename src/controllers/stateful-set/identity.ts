/** Identity of a set's pods: the ordinal determines the name, the network identity and the claims. */
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim, Pod, PodTemplateSpec, Volume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { int32Max } from '#/api/text/int64.ts'
import { podFromTemplate } from '../pods.ts'

export interface ParsedPodName {
  /** Name of the set. */
  readonly parent: string
  readonly ordinal: number
}

/** Parses the name of a pod; undefined if it is not that of a StatefulSet pod. */
export function parsePodName(podName: string): ParsedPodName | undefined {
  const dash = podName.lastIndexOf('-')
  const digits = podName.slice(dash + 1)
  // Leading zeros are rejected: they would allow two pods with the same ordinal.
  if (dash < 1 || !/^(?:0|[1-9][0-9]{0,9})$/.test(digits) || Number(digits) > int32Max) return undefined
  return { parent: podName.slice(0, dash), ordinal: Number(digits) }
}

/** Undefined if the pod does not belong to the set. */
export function ordinalOf(set: StatefulSet, pod: Stored<Pod>): number | undefined {
  const parsed = parsePodName(pod.metadata.name)
  return parsed !== undefined && parsed.parent === set.metadata.name ? parsed.ordinal : undefined
}

export function podName(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`
}

/** Label with the name of the pod's revision. */
const revisionLabel = 'controller-revision-hash'

export function revisionOf(pod: Pod): string {
  return pod.metadata.labels?.[revisionLabel] ?? ''
}

export interface StatefulSetPodOptions {
  readonly ordinal: number
  readonly template: PodTemplateSpec
  /** Name of the revision with this template. */
  readonly revision: string
}

export function newStatefulSetPod(
  set: Stored<StatefulSet>,
  { ordinal, template, revision }: StatefulSetPodOptions,
): Pod {
  const name = podName(set, ordinal)
  const { metadata, spec } = podFromTemplate(template, set)
  return {
    metadata: {
      ...metadata,
      name,
      labels: { ...metadata.labels, ...identityLabels(set, ordinal), [revisionLabel]: revision },
    },
    spec: {
      containers: [],
      ...spec,
      hostname: name,
      ...(set.spec?.serviceName && { subdomain: set.spec.serviceName }),
      ...withClaimVolumes(set, ordinal, spec?.volumes),
    },
  }
}

/** Adds missing identity labels and claim volumes to a pod; the same object if nothing changes. */
export function withIdentity(set: StatefulSet, pod: Stored<Pod>, ordinal: number): Stored<Pod> {
  const labels = identityLabels(set, ordinal)
  const isNamed = pod.metadata.labels?.[podNameLabel] === labels[podNameLabel]
  const isStored = claimVolumes(set, ordinal).every(({ name, persistentVolumeClaim }) => {
    const volume = pod.spec?.volumes?.find(each => each.name === name)
    return volume?.persistentVolumeClaim?.claimName === persistentVolumeClaim?.claimName
  })
  if (isNamed && isStored) return pod
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...labels } },
    spec: { containers: [], ...pod.spec, ...withClaimVolumes(set, ordinal, pod.spec?.volumes) },
  }
}

const podNameLabel = 'statefulset.kubernetes.io/pod-name'
const podIndexLabel = 'apps.kubernetes.io/pod-index'

function identityLabels(set: StatefulSet, ordinal: number): Readonly<Record<string, string>> {
  return { [podNameLabel]: podName(set, ordinal), [podIndexLabel]: String(ordinal) }
}

/** Adds volumes for the claims, replacing volumes of the same names. */
function withClaimVolumes(
  set: StatefulSet,
  ordinal: number,
  volumes: readonly Volume[] = [],
): { readonly volumes?: readonly Volume[] } {
  const claimed = claimVolumes(set, ordinal)
  const names = new Set(claimed.map(volume => volume.name))
  const all = [...claimed, ...volumes.filter(volume => !names.has(volume.name))]
  return all.length === 0 ? {} : { volumes: all }
}

function claimVolumes(set: StatefulSet, ordinal: number): readonly Volume[] {
  return (set.spec?.volumeClaimTemplates ?? []).map(template => ({
    name: template.metadata.name ?? '',
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }))
}

export function claimName(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string {
  return `${template.metadata.name}-${set.metadata.name}-${ordinal}`
}
