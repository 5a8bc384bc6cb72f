import type { Node, PersistentVolume, Pod } from '#/api/generated/core/v1.ts'
import { nodes, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatKey } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import {
  type PluginHandle,
  type PluginFactory,
  type Unschedulable,
  clusterEventWithHint,
} from '../framework.ts'

const unschedulable: Unschedulable = { reason: 'node(s) had no available volume zone', isUnresolvable: true }

/** Zone and region labels of volumes, with the current name of each deprecated label. */
const labels: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region': 'topology.kubernetes.io/region',
}
const labelNames = Object.keys(labels)

/** Filters out nodes outside the zones of the pod's volumes. Nodes without zone labels match every zone. */
export const volumeZone: PluginFactory = handle => {
  const zonesFor = zonesOfPods(handle)
  return {
    name: 'VolumeZone',
    eventsToRegister: [
      clusterEventWithHint({
        resource: storageClasses,
        on: ['add'],
        queueingHint: (_pod, { after }) => after?.volumeBindingMode === 'WaitForFirstConsumer',
      }),
      clusterEventWithHint({
        resource: nodes,
        on: ['add', 'update'],
        queueingHint: (_pod, { before, after }) =>
          before === undefined || !equalJson(before.metadata.labels, after?.metadata.labels),
      }),
      clusterEventWithHint({
        resource: persistentVolumeClaims,
        on: ['add', 'update'],
        queueingHint: (pod, { after }) =>
          after !== undefined &&
          after.metadata.namespace === pod.metadata.namespace &&
          claimNamesOf(pod).includes(after.metadata.name),
      }),
      clusterEventWithHint({
        resource: persistentVolumes,
        on: ['add', 'update'],
        queueingHint: (_pod, { before, after }) =>
          before === undefined || after === undefined || !equalJson(zonesOf(before), zonesOf(after)),
      }),
    ],
    preFilter: ({ pod }) => {
      const zones = zonesFor(pod)
      if ('reason' in zones) return zones
      return zones.length === 0
        ? undefined
        : { filter: ({ node }) => (isInZones(node, zones) ? undefined : unschedulable) }
    },
  }
}

interface Zones {
  readonly label: string
  readonly values: readonly string[]
}

function zonesOfPods(handle: PluginHandle): (pod: Pod) => readonly Zones[] | Unschedulable {
  const claims = handle.informer(persistentVolumeClaims)
  const volumes = handle.informer(persistentVolumes)
  const classes = handle.informer(storageClasses)
  const unresolvable = (reason: string): Unschedulable => ({ reason, isUnresolvable: true })
  return pod => {
    const zones: Zones[] = []
    for (const name of claimNamesOf(pod)) {
      const claim = claims.get(formatKey({ namespace: pod.metadata.namespace ?? '', name }))
      if (claim === undefined) return unresolvable(`persistentvolumeclaim ${quote(name)} not found`)
      const volumeName = claim.spec?.volumeName
      if (!volumeName) {
        const className = storageClassOf(claim)
        if (className === '')
          return unresolvable('PersistentVolumeClaim had no pv name and storageClass name')
        const mode = classes.get(className)?.volumeBindingMode
        if (!classes.get(className))
          return unresolvable(`storageclass.storage.k8s.io ${quote(className)} not found`)
        if (mode === undefined)
          return unresolvable(`VolumeBindingMode not set for StorageClass ${quote(className)}`)
        if (mode !== 'WaitForFirstConsumer') return unresolvable('PersistentVolume had no name')
        continue
      }
      const volume = volumes.get(volumeName)
      if (volume === undefined) return unresolvable(`persistentvolume ${quote(volumeName)} not found`)
      zones.push(...zonesOf(volume))
    }
    return zones
  }
}

function claimNamesOf({ spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => (claim ? [claim.claimName] : []))
}

/** Several zones in one label are separated by two underscores. A malformed label is ignored. */
function zonesOf({ metadata }: PersistentVolume): readonly Zones[] {
  return labelNames.flatMap(label => {
    const values = metadata.labels?.[label]?.split('__').map(value => value.trim())
    return values === undefined || values.includes('') ? [] : [{ label, values }]
  })
}

function isInZones({ metadata }: Node, zones: readonly Zones[]): boolean {
  const own = metadata.labels
  if (own === undefined || !labelNames.some(label => own[label] !== undefined)) return true
  return zones.every(({ label, values }) => {
    const value = own[label] ?? own[labels[label]!]
    return value !== undefined && values.includes(value)
  })
}
