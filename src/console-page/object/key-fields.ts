import type { KubernetesObject } from '#/api/metadata.ts'
import { tryParseQuantity } from '#/api/text/quantity.ts'
import { formatBytes } from '../format/format-bytes.ts'
import type { Tone } from '../format/tone.ts'

/** What is worth knowing first about an object. */
export interface KeyField {
  readonly name: string
  readonly text: string
  readonly tone?: Tone | undefined
}

type Fields = Readonly<Record<string, unknown>>

interface AnyObject extends KubernetesObject {
  readonly spec?: Fields
  readonly status?: Fields
  readonly [field: string]: unknown
}

/** By id of the resource: titles, and where the value is. A value that is absent is left out. */
const paths: Readonly<Record<string, readonly (readonly [title: string, path: string])[]>> = {
  'pods': [
    ['Phase', 'status.phase'],
    ['Reason', 'status.reason'],
    ['Message', 'status.message'],
    ['Pod IP', 'status.podIP'],
    ['Host IP', 'status.hostIP'],
    ['QoS class', 'status.qosClass'],
    ['Restart policy', 'spec.restartPolicy'],
    ['Scheduler', 'spec.schedulerName'],
  ],
  'deployments.apps': [
    ['Strategy', 'spec.strategy.type'],
    ['Max unavailable', 'spec.strategy.rollingUpdate.maxUnavailable'],
    ['Max surge', 'spec.strategy.rollingUpdate.maxSurge'],
    ['Paused', 'spec.paused'],
    ['Collisions', 'status.collisionCount'],
  ],
  'statefulsets.apps': [
    ['Service', 'spec.serviceName'],
    ['Pod management', 'spec.podManagementPolicy'],
    ['Update strategy', 'spec.updateStrategy.type'],
    ['Update revision', 'status.updateRevision'],
  ],
  'daemonsets.apps': [
    ['Desired', 'status.desiredNumberScheduled'],
    ['Ready', 'status.numberReady'],
    ['Misscheduled', 'status.numberMisscheduled'],
    ['Update strategy', 'spec.updateStrategy.type'],
  ],
  'jobs.batch': [
    ['Active', 'status.active'],
    ['Succeeded', 'status.succeeded'],
    ['Failed', 'status.failed'],
    ['Completions', 'spec.completions'],
    ['Parallelism', 'spec.parallelism'],
    ['Backoff limit', 'spec.backoffLimit'],
  ],
  'cronjobs.batch': [
    ['Schedule', 'spec.schedule'],
    ['Time zone', 'spec.timeZone'],
    ['Suspended', 'spec.suspend'],
    ['Concurrency', 'spec.concurrencyPolicy'],
    ['Last schedule', 'status.lastScheduleTime'],
  ],
  'nodes': [
    ['Unschedulable', 'spec.unschedulable'],
    ['Kubelet', 'status.nodeInfo.kubeletVersion'],
    ['Container runtime', 'status.nodeInfo.containerRuntimeVersion'],
    ['Operating system', 'status.nodeInfo.osImage'],
    ['Kernel', 'status.nodeInfo.kernelVersion'],
    ['Architecture', 'status.nodeInfo.architecture'],
    ['CPU', 'status.allocatable.cpu'],
    ['Memory', 'status.allocatable.memory'],
    ['Pods', 'status.allocatable.pods'],
    ['Pod network', 'spec.podCIDR'],
  ],
  'services': [
    ['Type', 'spec.type'],
    ['Cluster IP', 'spec.clusterIP'],
    ['External name', 'spec.externalName'],
    ['Session affinity', 'spec.sessionAffinity'],
    ['External traffic', 'spec.externalTrafficPolicy'],
  ],
  'persistentvolumeclaims': [
    ['Phase', 'status.phase'],
    ['Requested', 'spec.resources.requests.storage'],
    ['Capacity', 'status.capacity.storage'],
    ['Access modes', 'spec.accessModes'],
  ],
  'persistentvolumes': [
    ['Phase', 'status.phase'],
    ['Capacity', 'spec.capacity.storage'],
    ['Access modes', 'spec.accessModes'],
    ['Reclaim policy', 'spec.persistentVolumeReclaimPolicy'],
  ],
  'namespaces': [['Phase', 'status.phase']],
}

const textMax = 300

/** Undefined kinds have none: their page shows all fields. */
export function keyFields(id: string, object: KubernetesObject): KeyField[] {
  const found = (paths[id] ?? []).flatMap(([name, path]): KeyField[] => {
    const text = textAt(object, path)
    return text === undefined ? [] : [{ name, text: formatText(path, text).slice(0, textMax) }]
  })
  const replicas = replicasOf(id, object as AnyObject)
  return replicas ? [replicas, ...found] : found
}

function textAt(object: KubernetesObject, path: string): string | undefined {
  let value: unknown = object
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Fields)[name]
  }
  if (Array.isArray(value)) return value.join(', ')
  return isScalar(value) ? String(value) : undefined
}

/** Kubelets report the memory of nodes in Ki. */
function formatText(path: string, text: string): string {
  const quantity = path === 'status.allocatable.memory' ? tryParseQuantity(text) : undefined
  return quantity === undefined ? text : formatBytes(Number(quantity.nanos) / 1e9)
}

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

const scaled: ReadonlySet<string> = new Set(['deployments.apps', 'statefulsets.apps', 'replicasets.apps'])

/** `2 of 3 ready, 1 updated`. */
function replicasOf(id: string, { spec, status }: AnyObject): KeyField | undefined {
  if (!scaled.has(id)) return undefined
  const wanted = Number(spec?.['replicas'] ?? 1)
  const ready = Number(status?.['readyReplicas'] ?? 0)
  const updated = status?.['updatedReplicas']
  const isUpdating = typeof updated === 'number' && updated !== wanted
  const text = `${ready} of ${wanted} ready${isUpdating ? `, ${updated} updated` : ''}`
  const tone = wanted === 0 ? 'idle' : ready < wanted ? 'warn' : isUpdating ? 'busy' : 'good'
  return { name: 'Replicas', text, tone }
}
