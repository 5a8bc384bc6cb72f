import type { Node, PersistentVolume, Pod } from '#/api/generated/core/v1.ts'
import { nodes, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { formatKey } from '#/api/metadata.ts'
import { quote } from '#/api/quote.ts'
import { storageClassOf } from '#/api/storage-classes.ts'
import { type PluginContext, type PluginFactory, type Refusal, wakeUp } from '../framework.ts'

const refusal: Refusal = { reason: 'node(s) had no available volume zone', isFinal: true }

/** Zone and region labels of volumes, with the current name of each deprecated label. */
const labels: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region': 'topology.kubernetes.io/region',
}
const labelNames = Object.keys(labels)

/** Refuses nodes outside the zones of the pod's volumes. Nodes without zone labels match every zone. */
export const volumeZone: PluginFactory = context => {
  const zonesFor = zonesOfPods(context)
  return {
    name: 'VolumeZone',
    wakeUps: [
      wakeUp({
        resource: storageClasses,
        on: ['add'],
        isHelpful: (_pod, { after }) => after?.volumeBindingMode === 'WaitForFirstConsumer',
      }),
      wakeUp({
        resource: nodes,
        on: ['add', 'update'],
        isHelpful: (_pod, { before, after }) =>
          before === undefined || !equalJson(before.metadata?.labels, after?.metadata?.labels),
      }),
      wakeUp({
        resource: persistentVolumeClaims,
        on: ['add', 'update'],
        isHelpful: (pod, { after }) =>
          after?.metadata?.namespace === pod.metadata?.namespace &&
          claimNamesOf(pod).includes(after?.metadata?.name ?? ''),
      }),
      wakeUp({
        resource: persistentVolumes,
        on: ['add', 'update'],
        isHelpful: (_pod, { before, after }) =>
          before === undefined || after === undefined || !equalJson(zonesOf(before), zonesOf(after)),
      }),
    ],
    filter: ({ pod }) => {
      const zones = zonesFor(pod)
      if ('reason' in zones) return zones
      return zones.length === 0
        ? undefined
        : { test: ({ node }) => (isInZones(node, zones) ? undefined : refusal) }
    },
  }
}

interface Zones {
  readonly label: string
  readonly values: readonly string[]
}

function zonesOfPods(context: PluginContext): (pod: Pod) => readonly Zones[] | Refusal {
  const claims = context.informer(persistentVolumeClaims)
  const volumes = context.informer(persistentVolumes)
  const classes = context.informer(storageClasses)
  const final = (reason: string): Refusal => ({ reason, isFinal: true })
  return pod => {
    const zones: Zones[] = []
    for (const name of claimNamesOf(pod)) {
      const claim = claims.get(formatKey({ namespace: pod.metadata?.namespace ?? '', name }))
      if (claim === undefined) return final(`persistentvolumeclaim ${quote(name)} not found`)
      const volumeName = claim.spec?.volumeName
      if (!volumeName) {
        const className = storageClassOf(claim)
        if (className === '') return final('PersistentVolumeClaim had no pv name and storageClass name')
        const mode = classes.get(className)?.volumeBindingMode
        if (!classes.get(className)) return final(`storageclass.storage.k8s.io ${quote(className)} not found`)
        if (mode === undefined) return final(`VolumeBindingMode not set for StorageClass ${quote(className)}`)
        if (mode !== 'WaitForFirstConsumer') return final('PersistentVolume had no name')
        continue
      }
      const volume = volumes.get(volumeName)
      if (volume === undefined) return final(`persistentvolume ${quote(volumeName)} not found`)
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
    const values = metadata?.labels?.[label]?.split('__').map(value => value.trim())
    return values === undefined || values.includes('') ? [] : [{ label, values }]
  })
}

function isInZones({ metadata }: Node, zones: readonly Zones[]): boolean {
  const own = metadata?.labels
  if (own === undefined || !labelNames.some(label => own[label] !== undefined)) return true
  return zones.every(({ label, values }) => {
    const value = own[label] ?? own[labels[label]!]
    return value !== undefined && values.includes(value)
  })
}
