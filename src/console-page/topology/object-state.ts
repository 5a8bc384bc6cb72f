import type { KubernetesObject } from '#/api/metadata.ts'
import { toneOfStatus, type Tone } from '../format/tone.ts'

export interface ObjectState {
  readonly tone: Tone
  /** `Running 1/1`, `3/3 ready`. */
  readonly text: string
}

/** What a kind says about itself. Unexpected types of fields are ignored. */
export function objectState(resource: string, object: KubernetesObject): ObjectState {
  const known = states.get(object)
  if (known) return known
  const state = object.metadata.deletionTimestamp
    ? { tone: 'busy' as const, text: 'Terminating' }
    : (stateOfResource.get(resource)?.(object) ?? { tone: 'good', text: '' })
  states.set(object, state)
  return state
}

/** Versions of objects do not change. */
const states = new WeakMap<KubernetesObject, ObjectState>()

interface Fields extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

type StateOf = (object: Fields) => ObjectState

const stateOfResource: ReadonlyMap<string, StateOf> = new Map<string, StateOf>([
  ['pods', podState],
  [
    'deployments.apps',
    ({ spec, status }) => replicaState(spec?.['replicas'] ?? 1, status?.['readyReplicas']),
  ],
  [
    'replicasets.apps',
    ({ spec, status }) => replicaState(spec?.['replicas'] ?? 1, status?.['readyReplicas']),
  ],
  [
    'statefulsets.apps',
    ({ spec, status }) => replicaState(spec?.['replicas'] ?? 1, status?.['readyReplicas']),
  ],
  [
    'daemonsets.apps',
    ({ status }) => replicaState(status?.['desiredNumberScheduled'], status?.['numberReady']),
  ],
  ['jobs.batch', jobState],
  ['cronjobs.batch', cronJobState],
  ['services', ({ spec }) => ({ tone: 'good', text: textOf(spec?.['type'], 'ClusterIP') })],
  ['ingresses.networking.k8s.io', ({ spec }) => ({ tone: 'good', text: hostsOf(spec?.['rules']) })],
  ['persistentvolumeclaims', ({ status }) => phaseState(status?.['phase'])],
])

function replicaState(wanted: unknown, ready: unknown): ObjectState {
  const [all, count] = [numberOf(wanted), numberOf(ready)]
  if (all === 0 && count === 0) return { tone: 'idle', text: 'scaled to 0' }
  return { tone: count >= all ? 'good' : 'warn', text: `${count}/${all} ready` }
}

function podState({ spec, status }: Fields): ObjectState {
  const statuses = [...itemsOf(status?.['initContainerStatuses']), ...itemsOf(status?.['containerStatuses'])]
  const reasons = statuses.flatMap(each => {
    const { waiting, terminated } = recordOf(each['state'])
    const failed = recordOf(terminated)
    if (isRecord(waiting)) return waitingReason(waiting)
    return failed['exitCode'] ? [textOf(failed['reason'], 'Error')] : []
  })
  const phase = textOf(status?.['reason'] ?? status?.['phase'], 'Unknown')
  const text = reasons[0] ?? phase
  const containers = itemsOf(status?.['containerStatuses'])
  const ready = containers.filter(each => each['ready'] === true).length
  const all = itemsOf(spec?.['containers']).length
  const isWaiting = text === 'Running' && ready < all
  const tone = isWaiting ? 'warn' : (toneOfStatus(text) ?? 'busy')
  return { tone, text: text === 'Running' ? `Running ${ready}/${all}` : text }
}

/** Containers that wait for those before them say nothing of interest. */
function waitingReason({ reason }: Readonly<Record<string, unknown>>): string[] {
  return typeof reason === 'string' && reason !== 'PodInitializing' ? [reason] : []
}

function jobState({ spec, status }: Fields): ObjectState {
  const conditions = itemsOf(status?.['conditions']).filter(each => each['status'] === 'True')
  const done = conditions.find(({ type }) => type === 'Failed' || type === 'Complete')
  if (done) return { tone: done['type'] === 'Failed' ? 'bad' : 'good', text: String(done['type']) }
  const text = `${numberOf(status?.['succeeded'])}/${numberOf(spec?.['completions'] ?? 1)} complete`
  return { tone: 'busy', text }
}

function cronJobState({ spec }: Fields): ObjectState {
  if (spec?.['suspend'] === true) return { tone: 'idle', text: 'suspended' }
  return { tone: 'good', text: textOf(spec?.['schedule'], '') }
}

function phaseState(phase: unknown): ObjectState {
  const text = typeof phase === 'string' ? phase : 'Pending'
  return { tone: toneOfStatus(text) ?? 'busy', text }
}

function hostsOf(rules: unknown): string {
  const hosts = itemsOf(rules).map(({ host }) => (typeof host === 'string' && host !== '' ? host : '*'))
  return hosts.length > 1 ? `${hosts[0]} and ${hosts.length - 1} more` : (hosts[0] ?? '*')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

export function itemsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
