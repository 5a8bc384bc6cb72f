/**
 * DELETE: removes the object immediately, or sets its deletionTimestamp if a grace period or finalizers are
 * pending. See https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
import { conflict, notFound, optimisticLockErrorMessage } from '#/api/errors.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import { foregroundFinalizer, orphanFinalizer } from '#/api/names.ts'
import { formatTime } from '#/api/text/time.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import { removeObject } from '../registry/update-object.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import { translateStoreErrors } from '../registry/store-errors.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import { valueBody } from '../view.ts'
import { keyOfScope, subjectOf, type RequestScope } from './request-scope.ts'
import { readDeleteOptions, type DeleteOptions } from './delete-options.ts'
import { writeRequest } from './write-request.ts'

export async function deleteHandler(scope: RequestScope): Promise<ApiResponse> {
  const key = keyOfScope(scope)
  const outcome = await deleteObject(scope, key, await readDeleteOptions(scope))
  if (outcome.isGone && !returnsObject(scope))
    return { status: 200, body: valueBody(goneStatus(scope, outcome.stored), scope.view.negotiated) }
  return { status: 200, body: objectBody(scope.view, outcome.stored, scope) }
}

export interface Deletion {
  /** The deleted object, or the object with its deletionTimestamp set. */
  readonly stored: StoredObject
  readonly isGone: boolean
}

export async function deleteObject(
  scope: RequestScope,
  key: string,
  options: DeleteOptions,
): Promise<Deletion> {
  const { registry, context } = scope
  const { orphanDependentsWarning } = rulesOf(scope.resource)
  if (orphanDependentsWarning !== undefined && options.propagationPolicy === undefined)
    context.warnings.add(orphanDependentsWarning)
  let current = await getStoredObject(registry, key)
  for (let attempts = 1; ; attempts++) {
    if (current === undefined) throw notFound(nameSubject(scope, key))
    checkPreconditions(scope, current, options)
    const admission = admissionOf(scope, current, options)
    await registry.admission.mutate(admission)
    await registry.admission.validate(admission)
    const outcome = await tryDelete(scope, current, options)
    if ('stored' in outcome) return outcome
    if (attempts === attemptsMax) throw conflict(nameSubject(scope, key), optimisticLockErrorMessage)
    current = outcome.current
  }
}

/** Maximum number of conflicts before the client gets a Conflict error. */
const attemptsMax = 50

type Outcome = Deletion | { readonly current: StoredObject | undefined }

async function tryDelete(
  scope: RequestScope,
  current: StoredObject,
  options: DeleteOptions,
): Promise<Outcome> {
  const { registry, resource } = scope
  const graceSeconds = graceOf(scope, current.object, options)
  const rules = rulesOf(resource)
  const finalizers = finalizersOf(current.object, options, rules)
  const isPending =
    graceSeconds > 0 || finalizers.length > 0 || (rules.hasPendingFinalization?.(current.object) ?? false)
  if (!isPending) {
    if (options.dryRun) return { stored: current, isGone: true }
    const result = await removeObject(registry, { resource }, current)
    return 'current' in result ? result : { stored: current, isGone: true }
  }
  const begun = rules.beginDeletion?.(current.object) ?? current.object
  const marked = mark(registry.platform.clock.now(), begun, { graceSeconds, finalizers })
  const bytes = encodeForStore(marked)
  if (marked === current.object) return { stored: current, isGone: false }
  if (options.dryRun)
    return {
      stored: new StoredObject({ key: current.key, revision: current.revision, value: bytes }, marked),
      isGone: false,
    }
  registry.cache.noteWrite(bytes, marked)
  const result = await translateStoreErrors({ resource }, 'delete', () =>
    registry.store.update(current.key, bytes, { expectedRevision: current.revision }),
  )
  if (result.written)
    return {
      stored: new StoredObject({ key: current.key, revision: result.revision, value: bytes }, marked),
      isGone: false,
    }
  return {
    current:
      result.current &&
      new StoredObject({ key: current.key, revision: result.current.revision, value: result.current.value }),
  }
}

/** The grace period in seconds, as determined by the kind; a second deletion may only shorten it. */
function graceOf({ resource }: RequestScope, object: KubernetesObject, options: DeleteOptions): number {
  const wanted = rulesOf(resource).gracePeriodSeconds?.(object, options.gracePeriodSeconds) ?? 0
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (deletionTimestamp === undefined) return wanted
  return Math.min(wanted, Number(deletionGracePeriodSeconds ?? 0))
}

/** The finalizers during deletion, including those of the propagation policy. */
function finalizersOf(
  { metadata }: KubernetesObject,
  { propagationPolicy }: DeleteOptions,
  { orphanDependentsByDefault = false }: KindRules,
): readonly string[] {
  const before = metadata.finalizers ?? []
  const others = before.filter(each => each !== orphanFinalizer && each !== foregroundFinalizer)
  // A propagation finalizer on the object takes precedence over the default of the kind.
  const isUndecided = propagationPolicy === undefined && others.length === before.length
  const policy = isUndecided && orphanDependentsByDefault ? 'Orphan' : propagationPolicy
  if (policy === undefined) return before
  if (policy === 'Orphan') return [...others, orphanFinalizer]
  if (policy === 'Foreground') return [...others, foregroundFinalizer]
  return others
}

interface Mark {
  readonly graceSeconds: number
  readonly finalizers: readonly string[]
}

function mark(nowMs: number, object: KubernetesObject, { graceSeconds, finalizers }: Mark): KubernetesObject {
  const { metadata } = object
  const isFirst = metadata.deletionTimestamp === undefined
  const isShorter = graceSeconds < Number(metadata.deletionGracePeriodSeconds ?? 0)
  const isSame =
    finalizers.length === (metadata.finalizers?.length ?? 0) &&
    finalizers.every(each => metadata.finalizers?.includes(each))
  if (!isFirst && !isShorter && isSame) return object
  const { finalizers: _, ...rest } = metadata
  const marked: ObjectMeta = {
    ...rest,
    ...(finalizers.length > 0 && { finalizers }),
    ...((isFirst || isShorter) && {
      deletionTimestamp: formatTime(nowMs + graceSeconds * 1_000),
      deletionGracePeriodSeconds: graceSeconds,
    }),
    ...(isFirst && metadata.generation !== undefined && { generation: Number(metadata.generation) + 1 }),
  }
  return { ...object, metadata: marked }
}

function checkPreconditions(
  scope: RequestScope,
  current: StoredObject,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions
  const is = current.object.metadata.uid
  if (uid !== undefined && uid !== is) {
    throw conflict(
      nameSubject(scope, current.key),
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${is}`,
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== String(current.revision)) {
    const text =
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion},` +
      ` ResourceVersion in object meta: ${current.revision}`
    throw conflict(nameSubject(scope, current.key), text)
  }
}

function admissionOf(
  scope: RequestScope,
  current: StoredObject,
  { dryRun, sent }: DeleteOptions,
): AdmissionAttributes {
  const { name, namespace = '' } = current.object.metadata
  return {
    ...writeRequest(scope, { dryRun, sent }),
    namespace,
    name,
    operation: 'DELETE',
    object: undefined,
    oldObject: current.object,
  }
}

/** Pods and some other kinds return the deleted object; most return a Status. */
function returnsObject({ resource }: RequestScope): boolean {
  return rulesOf(resource).returnDeletedObject === true
}

function goneStatus({ resource }: RequestScope, stored: StoredObject): object {
  const { name, uid } = stored.object.metadata
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(resource.group && { group: resource.group }), kind: resource.plural, uid },
  }
}

function nameSubject(scope: RequestScope, key: string) {
  return { ...subjectOf(scope), name: key.slice(key.lastIndexOf('/') + 1) }
}
