import type { Namespace, Pod } from '#/api/generated/core/v1.ts'
import { conditionOf, type Condition } from '#/api/conditions.ts'
import { claimsOf } from '#/api/core/pod-volumes.ts'
import { isBeingDeleted, isControlledBy, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Cause, Evidence, Remedy } from '../diagnosis.ts'
import type { Snapshot } from '../collect/snapshot.ts'
import { after, ageOf, counted, kubectl, nameOf, ofCondition, ofObject, remedy, trimmed } from './phrases.ts'

/** When the finalizers that Kubernetes itself sets are removed. */
const known: Readonly<Record<string, string>> = {
  'foregroundDeletion': 'the garbage collector removes it when all dependent objects are gone',
  'orphan': 'the garbage collector removes it when the dependent objects have no owner reference any more',
  'kubernetes.io/pvc-protection': 'it is removed when no pod uses the claim any more',
  'kubernetes.io/pv-protection': 'it is removed when no claim is bound to the volume any more',
  'service.kubernetes.io/load-balancer-cleanup':
    'the service controller removes it when the load balancer is gone',
  'batch.kubernetes.io/job-tracking': 'the job controller removes it when it has counted the pod',
  'customresourcecleanup.apiextensions.k8s.io': 'the API server removes it when all instances are deleted',
}

/** Why an object is not gone after it was deleted; undefined if it is not being deleted. */
export function diagnoseDeletion(snapshot: Snapshot, object: Stored): Cause | undefined {
  if (!isBeingDeleted(object)) return undefined
  if (object.kind === 'Namespace') return namespaceCause(snapshot, object as Stored<Namespace>)
  const { finalizers = [] } = object.metadata
  return finalizers.length > 0 ? finalizerCause(snapshot, object) : undefined
}

function finalizerCause(snapshot: Snapshot, object: Stored): Cause {
  const { finalizers = [], deletionTimestamp } = object.metadata
  const age = ageOf(deletionTimestamp, snapshot.nowMs)
  const names = finalizers.join(', ')
  const noun = finalizers.length === 1 ? 'finalizer' : 'finalizers'
  const using = usersOf(snapshot, object).map(nameOf)
  const why =
    using.length > 0
      ? ` (${using.slice(0, namesShown).join(', ')} still ${using.length === 1 ? 'uses' : 'use'} it)`
      : ''
  return {
    code: 'Finalizer',
    summary: `${nameOf(object)} is not gone, since it still has the ${noun} ${names}${why}.`,
    evidence: [
      ofObject(object, `deleted${age ? ` ${age} ago` : ''}, metadata.finalizers: ${names}`),
      ...finalizers.map(finalizer => ofObject(object, `${finalizer}: ${setBy(object, finalizer)}`)),
    ],
    remedies: finalizerRemedies(object, finalizers),
  }
}

const namesShown = 5

function setBy(object: Stored, finalizer: string): string {
  const text = known[finalizer]
  if (text !== undefined) return text
  const entry = object.metadata.managedFields?.find(({ fieldsV1 }) => {
    const metadata = fieldsV1?.['f:metadata'] as Readonly<Record<string, unknown>> | undefined
    const list = metadata?.['f:finalizers'] as Readonly<Record<string, unknown>> | undefined
    return list !== undefined && `v:"${finalizer}"` in list
  })
  return entry?.manager
    ? `set by ${entry.manager}, which must remove it`
    : 'the controller that set it must remove it'
}

function finalizerRemedies(object: Stored, finalizers: readonly string[]): readonly Remedy[] {
  const foreign = finalizers.filter(finalizer => known[finalizer] === undefined)
  const { namespace, name } = object.metadata
  const kind = (object.kind ?? '').toLowerCase()
  if (foreign.length === 0) return [remedy('Remove what still uses the object, and wait.')]
  return [
    remedy(`Check that the controller that removes ${foreign.join(', ')} runs and does not fail.`),
    remedy(
      'If it is gone for good, remove the finalizers; what they were to clean up remains:',
      kubectl(namespace, 'patch', kind, name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}'),
    ),
  ]
}

function usersOf(snapshot: Snapshot, object: Stored): readonly Stored[] {
  const { pods = [], replicaSets = [], jobs = [] } = snapshot
  const { finalizers = [], name } = object.metadata
  if (finalizers.includes('kubernetes.io/pvc-protection')) {
    return pods.filter(pod => claimsOf(pod).some(claim => claim.name === name) && !isDone(pod))
  }
  const isForeground = finalizers.includes('foregroundDeletion')
  return isForeground ? [...pods, ...replicaSets, ...jobs].filter(each => isControlledBy(each, object)) : []
}

function isDone({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

const namespaceConditions = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
  'NamespaceFinalizersRemaining',
  'NamespaceContentRemaining',
] as const

function namespaceCause({ nowMs, remaining }: Snapshot, namespace: Stored<Namespace>): Cause {
  const { deletionTimestamp } = namespace.metadata
  const name = nameOf(namespace)
  const conditions = namespaceConditions.flatMap(type => {
    const condition: Condition | undefined = conditionOf(namespace.status?.conditions, type)
    return condition?.status === 'True' ? [condition] : []
  })
  const held = remaining.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0)
  const failed = conditions.find(({ type = '' }) => type.endsWith('Failure'))
  const spec = namespace.spec?.finalizers ?? []
  const age = ageOf(deletionTimestamp, nowMs)
  const evidence: readonly Evidence[] = [
    ofObject(namespace, `deleted${age ? ` ${age} ago` : ''}`),
    ...conditions.map(condition => ofCondition(namespace, condition)),
    ...held
      .slice(0, objectsShown)
      .map(object => ofObject(object, `finalizers: ${object.metadata.finalizers?.join(', ') ?? ''}`)),
  ]
  const [first] = held
  const common = { code: 'Finalizer', evidence } as const
  if (failed) {
    return {
      ...common,
      summary: `${name} is not gone, since its content cannot be deleted: ${trimmed(failed.message ?? '')}.`,
      remedies: [
        remedy(
          'An API service that does not answer prevents it; bring it back, or delete it:',
          'kubectl get apiservices',
        ),
      ],
    }
  }
  if (first) {
    const has = held.length === 1 ? 'has' : 'have'
    const finalizers = first.metadata.finalizers ?? []
    const names = finalizers.join(', ')
    const more = held.length > 1 ? ` and ${counted(held.length - 1, 'other object')}` : ''
    return {
      ...common,
      summary: `${name} is not gone, since ${nameOf(first)}${more} in it still ${has} finalizers: ${names}.`,
      remedies: finalizerRemedies(first, finalizers),
    }
  }
  const message = conditions.map(condition => condition.message ?? '').join('; ')
  const left = remaining.length > 0 ? remaining.slice(0, namesShown).map(nameOf).join(', ') : message
  return {
    ...common,
    code:
      conditions.length === 0 && remaining.length === 0 && spec.some(each => each !== 'kubernetes')
        ? 'Finalizer'
        : 'Terminating',
    summary: `${name} is being deleted${after(', and these objects in it are not gone yet: ', left)}.`,
    remedies: [remedy('Objects that are left:', kubectl(namespace.metadata.name, 'get', 'all'))],
  }
}

const objectsShown = 10

/** True if a pod should have terminated by now. */
export function isOverdue({ metadata }: KubernetesObject, nowMs: number): boolean {
  const deletedMs = parseTime(metadata.deletionTimestamp ?? '')
  return deletedMs !== undefined && nowMs > deletedMs
}
