/**
 * Deletion: removes the object immediately, or sets its deletionTimestamp if a grace period or finalizers are
 * pending. See https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 */
import { conflict, notFound, optimisticLockErrorMessage } from '#/api/errors.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import { foregroundFinalizer, orphanFinalizer } from '#/api/names.ts'
import { formatTime } from '#/api/text/time.ts'
import { readObject } from './convert-objects.ts'
import { getStoredObject, readStore } from './get-stored-object.ts'
import { noteOf } from '../request-origin.ts'
import type { Registry } from './registry.ts'
import { rulesOf } from './resource-strategy.ts'
import { translateStoreErrors } from './store-errors.ts'
import { keyOf } from './store-keys.ts'
import { encodeForStore, StoredObject } from './stored-object.ts'
import { removeObject } from './update-object.ts'
import { kindSubject, subjectOf, type WriteRequest } from './write-request.ts'

export interface Deletion {
  /** The deleted object, or the object with its deletionTimestamp set. */
  readonly stored: StoredObject
  readonly isGone: boolean
}

export interface DeleteObjectOptions {
  /** Undefined selects the default of the kind. */
  readonly gracePeriodSeconds: number | undefined
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string }
}

export async function deleteObject(
  registry: Registry,
  request: WriteRequest,
  options: DeleteObjectOptions,
): Promise<Deletion> {
  const { resource, namespace, name } = request
  const key = keyOf(resource, namespace, name)
  const subject = subjectOf(request, name)
  const { orphanDependentsWarning } = rulesOf(resource)
  if (orphanDependentsWarning !== undefined && options.propagationPolicy === undefined)
    request.warn(orphanDependentsWarning)
  let current = await getStoredObject(registry, key)
  for (let attempts = 1; ; attempts++) {
    // The cache may be behind another API server.
    if (current !== undefined && failedPrecondition(request, current, options) !== undefined) {
      current = await readStore(registry, key)
    }
    if (current === undefined) throw notFound(subject)
    const failed = failedPrecondition(request, current, options)
    if (failed !== undefined)
      throw conflict(isTwoPhased(request, current) ? subject : kindSubject(request), failed)
    const attributes = {
      ...request,
      operation: 'DELETE',
      object: undefined,
      oldObject: (await readObject(resource, current)).object,
    } as const
    await registry.admission.mutate(attributes)
    await registry.admission.validate(attributes)
    const outcome = await tryDelete({ registry, request, options }, current)
    if ('stored' in outcome) return outcome
    if (attempts === attemptsMax) throw conflict(subject, optimisticLockErrorMessage)
    current = outcome.current
  }
}

/** Maximum number of conflicts before the client gets a Conflict error. */
const attemptsMax = 50

type Outcome = Deletion | { readonly current: StoredObject | undefined }

interface Deleting {
  readonly registry: Registry
  readonly request: WriteRequest
  readonly options: DeleteObjectOptions
}

async function tryDelete(deleting: Deleting, current: StoredObject): Promise<Outcome> {
  const { request, options } = deleting
  const rules = rulesOf(request.resource)
  const graceSeconds = graceOf(rules, current.object, options)
  const finalizers = finalizersOf(current.object, options, rules)
  const isPending =
    graceSeconds > 0 || finalizers.length > 0 || (rules.hasPendingFinalization?.(current.object) ?? false)
  if (isPending) return markDeleted(deleting, current, { graceSeconds, finalizers })
  const isMarkedFirst = rules.gracePeriodSeconds !== undefined && isFirstDeletion(current)
  if (!isMarkedFirst) return request.dryRun ? { stored: current, isGone: true } : remove(deleting, current)
  // Watchers of a kind with grace periods see the deletionTimestamp before the object is gone. The turn keeps both
  // events from being sent as one: a controller that reads its cache would not find the object any more.
  const marked = await markDeleted(deleting, current, { graceSeconds, finalizers })
  if (!('stored' in marked)) return marked
  if (request.dryRun) return { ...marked, isGone: true }
  await deleting.registry.platform.clock.turn()
  const removed = await remove(deleting, marked.stored)
  const isGone = 'stored' in removed || removed.current === undefined
  return isGone ? { stored: marked.stored, isGone } : removed
}

function isFirstDeletion({ object }: StoredObject): boolean {
  return object.metadata.deletionTimestamp === undefined
}

/** True for the first deletion of a kind that only begins with it. */
function isTwoPhased({ resource }: WriteRequest, current: StoredObject): boolean {
  return rulesOf(resource).beginDeletion !== undefined && isFirstDeletion(current)
}

async function remove({ registry, request }: Deleting, current: StoredObject): Promise<Outcome> {
  const result = await removeObject(registry, request, current)
  return 'current' in result ? result : { stored: current, isGone: true }
}

/** Sets the deletionTimestamp and the finalizers of the deletion. */
async function markDeleted(
  { registry, request }: Deleting,
  current: StoredObject,
  pending: Mark,
): Promise<Outcome> {
  const { resource, dryRun } = request
  const nowMs = registry.platform.clock.now()
  const marked = isTwoPhased(request, current)
    ? begin(rulesOf(resource), current.object, { now: formatTime(nowMs), ...pending })
    : mark(nowMs, current.object, pending)
  const bytes = encodeForStore(marked)
  if (marked === current.object) return { stored: current, isGone: false }
  if (dryRun)
    return {
      stored: new StoredObject({ key: current.key, revision: current.revision, value: bytes }, marked),
      isGone: false,
    }
  registry.cache.noteWrite(bytes, marked)
  const result = await translateStoreErrors({ resource }, 'delete', () =>
    registry.store.update(current.key, bytes, {
      expectedRevision: current.revision,
      ignoresQuota: true,
      note: noteOf(request),
    }),
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
function graceOf(rules: KindRules, object: KubernetesObject, options: DeleteObjectOptions): number {
  const wanted = rules.gracePeriodSeconds?.(object, options.gracePeriodSeconds) ?? 0
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (deletionTimestamp === undefined) return wanted
  return Math.min(wanted, Number(deletionGracePeriodSeconds ?? 0))
}

/** The finalizers during deletion, including those of the propagation policy. */
function finalizersOf(
  { metadata }: KubernetesObject,
  { propagationPolicy }: DeleteObjectOptions,
  { orphanDependentsByDefault = false, deletionFinalizers, ignoresPropagationPolicy = false }: KindRules,
): readonly string[] {
  const isFirst = metadata.deletionTimestamp === undefined
  const given = metadata.finalizers ?? []
  if (isFirst && deletionFinalizers) return [...new Set([...given, ...deletionFinalizers])]
  if (ignoresPropagationPolicy) return given
  const before = given
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

/** Begins a deletion in two phases: the object gets no grace period and keeps its generation. */
function begin(
  rules: KindRules,
  object: KubernetesObject,
  { now, finalizers }: Mark & { readonly now: string },
): KubernetesObject {
  const begun = rules.beginDeletion?.(object, now) ?? object
  const { finalizers: _, ...rest } = begun.metadata
  const metadata = { ...rest, ...(finalizers.length > 0 && { finalizers }), deletionTimestamp: now }
  return { ...begun, metadata }
}

function failedPrecondition(
  request: WriteRequest,
  current: StoredObject,
  { preconditions }: DeleteObjectOptions,
): string | undefined {
  const { uid, resourceVersion } = preconditions
  const is = current.object.metadata.uid
  if (isTwoPhased(request, current)) {
    const what = 'Precondition failed:'
    if (uid !== undefined && uid !== is)
      return `${what} UID in precondition: ${uid}, UID in object meta: ${is}`
    const revision = String(current.revision)
    return resourceVersion === undefined || resourceVersion === revision
      ? undefined
      : `${what} ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${revision}`
  }
  if (uid !== undefined && uid !== is)
    return (
      `the UID in the precondition (${uid}) does not match the UID in record (${is}).` +
      ' The object might have been deleted and then recreated'
    )
  if (resourceVersion === undefined || resourceVersion === String(current.revision)) return undefined
  return (
    `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record` +
    ` (${current.revision}). The object might have been modified`
  )
}
