/**
 * The eviction subresource: deletes a pod if its PodDisruptionBudget allows it. The budget is charged before
 * the deletion, so concurrent evictions cannot exceed it. A pod that needs no budget is deleted with a
 * resourceVersion precondition and evaluated again if it has changed, e.g. become ready. See
 * https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
 */
import { isTrue, withCondition } from '#/api/conditions.ts'
import { structDefinition } from '#/api/definitions.ts'
import { apiError, badRequest, isApiError, notFound, tooManyRequests, type ApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Eviction, PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Stored } from '#/api/metadata.ts'
import { noAdmission } from '../admission/admission-chain.ts'
import { keyOfScope, subjectOf, type RequestScope } from '../handlers/request-scope.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { deleteObject } from '../registry/delete-object.ts'
import { deleteOptionsOf, type DeleteOptions } from '../handlers/delete-options.ts'
import { readWriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { updateObject } from '../registry/update-object.ts'
import { admitConnectOrCreate } from '../registry/admit.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'
import { prefixOf } from '../registry/store-keys.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { valueBody } from '../view.ts'

export const eviction: VerbHandlers = { create }

const evictionKind = { group: 'policy', version: 'v1', kind: 'Eviction' }
/** Still sent by kubectl v1.20 and older. */
const betaVersion = { group: 'policy', version: 'v1beta1' }

async function create(scope: RequestScope): Promise<ApiResponse> {
  const { registry, info } = scope
  const key = keyOfScope(scope)
  const options = readWriteOptions(scope, 'CreateOptions')
  const schema = structDefinition('policy.v1.Eviction')
  const sent = (await decodeBody(scope, {
    kind: evictionKind,
    schema,
    fieldValidation: options.fieldValidation,
    accepted: [betaVersion],
  })) as Eviction
  if (sent.metadata.name !== info.name) throw badRequest('name in URL does not match name in Eviction object')
  if ((await getStoredObject(registry, key)) === undefined) throw notFound(subjectOf(scope))
  const { deleteOptions = {} } = (await admitConnectOrCreate(
    registry,
    { ...writeRequest(scope, options), operation: 'CREATE' },
    sent,
  )) as Eviction
  const deletion = deleteOptionsOf(deleteOptions, options.dryRun)
  // Admission runs on the Eviction; the writes that follow bypass it.
  const admitted: RequestScope = { ...scope, registry: { ...registry, admission: noAdmission } }
  while (!(await evict(admitted, deletion)));
  return { status: 201, body: valueBody(success, scope.view.negotiated) }
}

/** Returns false if the pod has changed since it was found to need no budget. */
async function evict(scope: RequestScope, deletion: DeleteOptions): Promise<boolean> {
  const key = keyOfScope(scope)
  const stored = await getStoredObject(scope.registry, key)
  if (stored === undefined) throw notFound(subjectOf(scope))
  const pod = stored.object as Stored<Pod>
  const { preconditions, dryRun } = deletion
  const isFree = canIgnorePdb(pod) || !(await checkAndDecrement(scope, pod, dryRun))
  const isBound = isFree && !preconditions.resourceVersion
  const bound = isBound
    ? { ...deletion, preconditions: { ...preconditions, resourceVersion: String(stored.revision) } }
    : deletion
  try {
    const options = dryRun ? bound : await addDisruptionTarget(scope, bound)
    await deleteObject(scope.registry, writeRequest(scope, deletion), options)
  } catch (error) {
    const hasChanged = isBound && (await getStoredObject(scope.registry, key))?.revision !== stored.revision
    if (!hasChanged || !isApiError(error, 'Conflict')) throw error
    return false
  }
  return true
}

const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

/** Pods that do not run yet or have finished are not protected by budgets. */
function canIgnorePdb({ status, metadata }: Pod): boolean {
  const phase = status?.phase
  return (
    phase === 'Succeeded' ||
    phase === 'Failed' ||
    phase === 'Pending' ||
    metadata.deletionTimestamp !== undefined
  )
}

/**
 * Sets the DisruptionTarget condition, which job failure policies evaluate. Returns the deletion with an
 * updated precondition.
 */
async function addDisruptionTarget(scope: RequestScope, deletion: DeleteOptions): Promise<DeleteOptions> {
  const { registry } = scope
  const { preconditions } = deletion
  const now = formatTime(registry.platform.clock.now())
  const { stored } = await updateObject(
    registry,
    { ...writeRequest(scope, ownWrite), subresource: 'status' },
    {
      uid: preconditions.uid,
      change: oldObject => {
        const { metadata, status } = oldObject as Pod
        const conditions = withCondition(status?.conditions, { ...target, lastTransitionTime: now })
        return {
          ...oldObject,
          metadata: { ...metadata, ...preconditions },
          status: { ...status, conditions },
        } as Pod
      },
    },
  )
  if (!preconditions.resourceVersion) return deletion
  return { ...deletion, preconditions: { ...preconditions, resourceVersion: String(stored.revision) } }
}

const target = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
}

const ownWrite = { dryRun: false, fieldManager: 'kube-apiserver', sent: {} }

/** Returns false if no budget applies to the pod. */
async function checkAndDecrement(scope: RequestScope, pod: Stored<Pod>, dryRun: boolean): Promise<boolean> {
  const budgets = budgetsOf(scope, pod)
  const [budget] = budgets
  if (budget === undefined) return false
  if (budgets.length > 1) {
    throw apiError(
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  }
  if (!isTrue(pod.status?.conditions, 'Ready') && mayEvictUnhealthy(budget)) return false
  const { registry } = scope
  const resource = registry.scheme.byKind({ group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' })!
  const name = budget.metadata.name
  const options = { ...ownWrite, dryRun }
  const now = formatTime(registry.platform.clock.now())
  try {
    await updateObject(
      registry,
      { ...writeRequest(scope, options), resource, name, subresource: 'status' },
      {
        change: oldObject => charge(oldObject as Stored<PodDisruptionBudget>, pod.metadata.name, now),
      },
    )
  } catch (error) {
    // The budget was deleted concurrently, so nothing protects the pod.
    if (!isApiError(error, 'NotFound')) throw error
  }
  return true
}

function charge(budget: Stored<PodDisruptionBudget>, podName: string, now: string): PodDisruptionBudget {
  const { status, metadata } = budget
  const allowed = status?.disruptionsAllowed ?? 0
  const name = metadata.name
  if (Number(status?.observedGeneration ?? 0) < Number(metadata.generation ?? 0)) {
    throw tooManyDisruptions(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
  if (allowed < 1) {
    const { desiredHealthy = 0, currentHealthy = 0 } = status ?? {}
    const health = `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
    const text = `The disruption budget ${name} ${health}`
    throw tooManyDisruptions(text, 0)
  }
  const disruptedPods = { ...status?.disruptedPods, [podName]: now }
  if (Object.keys(disruptedPods).length > disruptedPodsMax) {
    throw tooManyDisruptions(
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
      0,
    )
  }
  return { ...budget, status: { ...status!, disruptionsAllowed: allowed - 1, disruptedPods } }
}

const disruptedPodsMax = 2_000

function tooManyDisruptions(text: string, retryAfterSeconds: number): ApiError {
  const { status } = tooManyRequests(
    "Cannot evict pod as it would violate the pod's disruption budget.",
    retryAfterSeconds,
  )
  return apiError('TooManyRequests', status.message ?? '', {
    ...status.details,
    causes: [{ reason: 'DisruptionBudget', message: text }],
  })
}

function budgetsOf({ registry, info }: RequestScope, pod: Pod): readonly Stored<PodDisruptionBudget>[] {
  const resource = registry.scheme.byKind({ group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' })
  if (resource === undefined) return []
  return [...registry.cache.list(prefixOf(resource, info.namespace))]
    .map(stored => stored.object as Stored<PodDisruptionBudget>)
    .filter(budget => compileLabelSelector(budget.spec?.selector).matches(pod.metadata.labels))
}

/** A pod that is not ready may be evicted while enough others are healthy, or always with AlwaysAllow. */
function mayEvictUnhealthy({ spec, status }: PodDisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  return (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0
}
