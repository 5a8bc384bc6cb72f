/**
 * Updates and removal of existing objects. A write that conflicts is retried on the current version, unless
 * the client specified a resourceVersion.
 */
import { ignoreManagedFieldsTimestamps } from '#/api/apply.ts'
import {
  ApiError,
  conflict,
  isApiError,
  notFound,
  optimisticLockErrorMessage,
  unknownError,
} from '#/api/errors.ts'
import { invalidObject } from '#/api/field-error.ts'
import type { SubresourceStrategy } from '#/api/kind-rules.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, qualifiedResourceName, type Resource } from '#/api/resource.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime } from '#/api/text/time.ts'
import { validateMetadataUpdate } from '#/api/validate-metadata.ts'
import { withZeroFields } from '#/api/zero-fields.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import { convertTo, convertToStored, internalVersionOf, markRead, readObject } from './convert-objects.ts'
import { createIfAbsent } from './create-object.ts'
import { noteOf } from '../request-origin.ts'
import type { Registry } from './registry.ts'
import { keyOf } from './store-keys.ts'
import { encodeForStore, StoredObject } from './stored-object.ts'
import {
  checkUidPrecondition,
  withGeneration,
  withObjectMetaOf,
  withSubresourceOf,
} from './system-metadata.ts'
import { runMutatingAdmission } from './admit.ts'
import { getStoredObject, readStore } from './get-stored-object.ts'
import { withManagedFields } from './managed-fields.ts'
import { withReservation } from './reservation.ts'
import { requiresQualifiedFinalizers, rulesOf, withDefaults } from './resource-strategy.ts'
import { translateStoreErrors } from './store-errors.ts'
import { rejectInvalid, subjectOf, type WriteRequest } from './write-request.ts'

export interface Update {
  /**
   * Computes the new object from the stored one, both in the version of the request. Called again after a
   * conflict.
   */
  readonly change: (oldObject: KubernetesObject) => KubernetesObject | Promise<KubernetesObject>
  /** Creates the object if it does not exist; `change` is then not called. */
  readonly create?: () => Promise<KubernetesObject>
  /** The uid that the object must have, of a client that replaces it. */
  readonly uid?: string | undefined
  /** The strategy of a subresource other than status. */
  readonly strategy?: SubresourceStrategy
  /** Presents the object to admission as another kind, such as Scale. */
  readonly representation?: AdmissionRepresentation
  /** True if the change does not affect the desired state, so the generation stays. */
  readonly keepsGeneration?: boolean
}

/** Maps an object to another kind and back, e.g. a Deployment and its Scale. All in the storage version. */
export interface AdmissionRepresentation {
  readonly of: (object: KubernetesObject) => KubernetesObject
  /** Merges the admitted representation into the object. */
  readonly into: (object: KubernetesObject, representation: KubernetesObject) => KubernetesObject
}

export interface Updated {
  readonly stored: StoredObject
  readonly created: boolean
}

export async function updateObject(
  registry: Registry,
  request: WriteRequest,
  update: Update,
): Promise<Updated> {
  const key = keyOf(request.resource, request.namespace, request.name)
  const subject = subjectOf(request, request.name)
  let current = await getStoredObject(registry, key)
  for (let attempts = 1; ; attempts++) {
    if (current === undefined) {
      if (!update.create) throw notFound(subject)
      const created = await createIfAbsent(registry, request, await update.create())
      if (created !== undefined) return { stored: created, created: true }
      // Another request has created it meanwhile.
      current = await readStore(registry, key)
    } else {
      const outcome = await tryUpdateLatest({ registry, request, update }, current)
      if ('stored' in outcome) {
        await registry.genericHooks?.afterUpdate?.(registry, request, outcome.stored)
        return { stored: outcome.stored, created: false }
      }
      current = outcome.current
    }
    if (attempts === updateAttemptsMax) throw conflict(subject, optimisticLockErrorMessage)
  }
}

/** Maximum number of conflicts before the client gets a Conflict error. */
const updateAttemptsMax = 50

type Outcome = { readonly stored: StoredObject } | { readonly current: StoredObject | undefined }

interface Updating {
  readonly registry: Registry
  readonly request: WriteRequest
  readonly update: Update
}

/** An error is final only if it is about the latest version: the cache may be behind another API server. */
async function tryUpdateLatest(updating: Updating, current: StoredObject): Promise<Outcome> {
  try {
    return await tryUpdate(updating, current)
  } catch (error) {
    // After an error of the store, the update may have been written.
    if (!(error instanceof ApiError) || isApiError(error, 'ServiceUnavailable')) throw error
    const stored = await readStore(updating.registry, current.key)
    if (stored?.revision === current.revision) throw error
    return { current: stored }
  }
}

async function tryUpdate(updating: Updating, current: StoredObject): Promise<Outcome> {
  const { registry, request, update } = updating
  const { subresource } = request
  const { genericHooks } = registry
  const resource = genericHooks?.resourceForUpdate?.(request.resource, current.object) ?? request.resource
  const { object: oldObject } = await readObject(resource, current)
  const rules = rulesOf(resource)
  const seen = await convertTo(resource, oldObject, resource)
  const slices = new TimeSlices(registry.platform.clock, 'update object')
  const changed = await update.change(seen)
  await slices.pause()
  const subject = subjectOf(request, request.name)
  checkUidPrecondition(update.uid, oldObject, { subject, key: current.key })
  checkVersion(request, changed, current)
  const identified = withObjectMetaOf(changed, oldObject)
  const defaulted = await convertTo(
    resource,
    withDefaults(rules, withZeroFields(identified, resource.schema)),
    internalVersionOf(resource),
  )
  const now = formatTime(registry.platform.clock.now())
  const path = { resource, subresource, strategy: update.strategy, oldObject, now }
  const prepared = prepareForStrategy(path, defaulted)
  await slices.pause()
  // Fields set by admission are not owned by the request's field manager.
  const sent = sentThrough(path, { defaulted, prepared })
  const owned = withManagedFieldsOf(
    prepared,
    await withManagedFields(registry, request, { object: sent, oldObject }),
  )
  await slices.pause()
  const admitted = await admit(updating, owned, oldObject)
  await slices.pause()
  const confined = admitted === owned ? owned : withinStrategy(path, admitted)
  const stored = registry.scheme.byKind({ ...resource.storage, kind: resource.kind }) ?? resource
  const complete = withZeroFields(confined, stored.schema)
  const keepsGeneration = update.keepsGeneration === true || subresource === 'status'
  const object = keepsGeneration ? complete : withGeneration(complete, oldObject, resource)
  const validate =
    update.strategy?.validate ??
    (subresource === 'status' ? rules.validateStatusUpdate : rules.validateUpdate)
  const hooks = registry.hooks.get(qualifiedResourceName(resource))
  const hookContext = { clock: registry.platform.clock, cache: registry.cache }
  const metadataErrors = validateMetadataUpdate(object.metadata, oldObject.metadata, {
    qualifiedFinalizers: requiresQualifiedFinalizers(resource),
    once: rules.validatesMetadataOnce === true,
  })
  rejectInvalid(request, object, [
    ...metadataErrors,
    ...(validate?.(object, oldObject, metadataErrors) ?? []),
    ...((await hooks?.validate?.(object, oldObject, hookContext)) ?? []),
  ])
  await slices.pause()
  // Only writes of the whole object, or of its scale, are warned about.
  if (subresource === '' || subresource === 'scale') {
    for (const warning of rules.warnings?.(object, oldObject) ?? []) request.warn(warning)
  }
  const representationOf = update.representation?.of ?? itself
  await registry.admission.validate({
    ...request,
    operation: 'UPDATE',
    object: representationOf(object),
    oldObject: representationOf(oldObject),
  })
  await slices.pause()
  return replace(updating, current, { object, oldObject })
}

const itself: AdmissionRepresentation['of'] = object => object

/** Runs mutating admission. */
async function admit(
  { registry, request, update: { representation } }: Updating,
  owned: KubernetesObject,
  oldObject: KubernetesObject,
): Promise<KubernetesObject> {
  const operation = 'UPDATE'
  if (!representation)
    return runMutatingAdmission(registry, { ...request, operation, object: owned, oldObject })
  const seen = representation.of(owned)
  const seenOld = representation.of(oldObject)
  const changed = await runMutatingAdmission(registry, {
    ...request,
    operation,
    object: seen,
    oldObject: seenOld,
  })
  return changed === seen ? owned : representation.into(owned, changed)
}

/** The path of an update determines what it may change: the main resource, the status, or another part. */
interface UpdatedPath {
  readonly resource: Resource
  readonly subresource: string
  readonly strategy: SubresourceStrategy | undefined
  readonly oldObject: KubernetesObject
  readonly now: string
}

/**
 * The object whose changes the field manager owns: as it was sent, before the kind has reset fields. A manager of a
 * part owns what it has sent outside of it, too.
 */
function sentThrough(
  path: UpdatedPath,
  { defaulted, prepared }: Readonly<Record<'defaulted' | 'prepared', KubernetesObject>>,
): KubernetesObject {
  const { resource, subresource, strategy } = path
  if (strategy === undefined) return withSubresourceOf(path, defaulted)
  return rulesOf(resource).subresources?.[subresource] === strategy ? defaulted : prepared
}

/** Restricts changes by admission to what the path may change. */
function withinStrategy(path: UpdatedPath, admitted: KubernetesObject): KubernetesObject {
  return withManagedFieldsOf(prepareForStrategy(path, admitted), admitted)
}

function withManagedFieldsOf(object: KubernetesObject, { metadata }: KubernetesObject): KubernetesObject {
  const { managedFields } = metadata
  if (object.metadata.managedFields === managedFields) return object
  const { managedFields: _, ...rest } = object.metadata
  return { ...object, metadata: { ...rest, ...(managedFields && { managedFields }) } }
}

/** Merges the part that the path may change into the stored object. */
function prepareForStrategy(path: UpdatedPath, object: KubernetesObject): KubernetesObject {
  const { resource, subresource, strategy, oldObject, now } = path
  if (strategy) return strategy.merge(oldObject, object, now)
  const rules = rulesOf(resource)
  const merged = withSubresourceOf(path, object)
  if (subresource === 'status') return rules.prepareForStatusUpdate?.(merged, oldObject, now) ?? merged
  return rules.prepareForUpdate?.(merged, oldObject) ?? merged
}

async function replace(
  { registry, request }: Updating,
  current: StoredObject,
  { object: wanted, oldObject }: { readonly object: KubernetesObject; readonly oldObject: KubernetesObject },
): Promise<Outcome> {
  const { resource } = request
  const { clock } = registry.platform
  const startedMs = clock.monotonicMs()
  const object = objectOf(ignoreManagedFieldsTimestamps(jsonOf(oldObject), jsonOf(wanted)))
  const isSame = object === oldObject
  const seconds = (clock.monotonicMs() - startedMs) / 1_000
  registry.metrics?.requests.recordComparison(isSame ? 'equal_objects' : 'unequal_objects_fast', seconds)
  const isMigrated = current.object.apiVersion === apiVersionOf(resource.storage)
  if (isSame && isMigrated && oldObject === current.object) return unchanged(registry, current)
  if (isFinished(object, resource)) return removeFinished({ registry, request }, current, object)
  return withReservation<Outcome>({
    registry,
    request,
    object,
    oldObject,
    write: async reserved => {
      const written = await convertToStored(resource, reserved)
      if (request.dryRun)
        return {
          stored: new StoredObject(
            { key: current.key, revision: current.revision, value: encodeForStore(written) },
            written,
          ),
        }
      // A write without a change stores what reading has defaulted or converted.
      if (isSame && equalJson(written, current.object)) return unchanged(registry, current)
      const bytes = encodeForStore(written)
      registry.cache.noteWrite(bytes, written)
      const ttlMs = resource.rules?.ttlMs
      const expectedRevision = current.revision
      const result = await translateStoreErrors(request, 'update', () =>
        registry.store.update(current.key, bytes, {
          expectedRevision,
          ignoresQuota: ignoresQuota(request, written),
          ...(ttlMs && { ttlMs }),
          note: noteOf(request),
        }),
      )
      if (result.written) {
        const stored = new StoredObject(
          { key: current.key, revision: result.revision, value: bytes },
          written,
        )
        return { stored: written === reserved ? markRead(resource, stored) : stored }
      }
      const { current: winner } = result
      return { current: winner && new StoredObject(winner) }
    },
    isWritten,
  })
}

/** Steps of a deletion are accepted by a full store, since they free space in the end. */
function ignoresQuota(request: WriteRequest, { metadata }: KubernetesObject): boolean {
  const { updatesIgnoreQuota = false } = rulesOf(request.resource)
  return request.ignoresQuota === true || updatesIgnoreQuota || metadata.deletionTimestamp !== undefined
}

/** A write without a change is one if the object is still the same: the cache may be behind another API server. */
async function unchanged(registry: Registry, current: StoredObject): Promise<Outcome> {
  const stored = await readStore(registry, current.key)
  return stored?.revision === current.revision ? { stored: current } : { current: stored }
}

function isWritten(outcome: Outcome): boolean {
  return 'stored' in outcome
}

/** True if an object being deleted has no finalizers, grace period or other holds left. */
function isFinished(object: KubernetesObject, resource: Resource): boolean {
  const { metadata } = object
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers?.length ?? 0) === 0 &&
    Number(metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    !(rulesOf(resource).hasPendingFinalization?.(object) ?? false)
  )
}

async function removeFinished(
  { registry, request }: Pick<Updating, 'registry' | 'request'>,
  current: StoredObject,
  object: KubernetesObject,
): Promise<Outcome> {
  if (request.dryRun)
    return {
      stored: new StoredObject(
        { key: current.key, revision: current.revision, value: encodeForStore(object) },
        object,
      ),
    }
  const result = await removeObject(registry, request, current)
  if ('current' in result) return { current: result.current }
  return {
    stored: new StoredObject(
      { key: current.key, revision: result.revision, value: encodeForStore(object) },
      object,
    ),
  }
}

export type Removal = { readonly revision: number } | { readonly current: StoredObject | undefined }

/** Deletes the object from the store if it has not changed. */
export async function removeObject(
  registry: Registry,
  request: Pick<WriteRequest, 'resource' | 'origin'>,
  current: StoredObject,
): Promise<Removal> {
  const result = await translateStoreErrors(request, 'delete', () =>
    registry.store.delete(current.key, { expectedRevision: current.revision, note: noteOf(request) }),
  )
  if (!result.written) {
    const { current: winner } = result
    return { current: winner && new StoredObject(winner) }
  }
  await registry.hooks.get(qualifiedResourceName(request.resource))?.afterDelete?.(registry, current.object)
  return { revision: result.revision }
}

/** The resourceVersion sent by the client must be the current one. */
function checkVersion(request: WriteRequest, changed: KubernetesObject, current: StoredObject): void {
  const sent = changed.metadata.resourceVersion
  const isGiven = sent !== undefined && sent !== '' && sent !== '0'
  if (!isGiven) {
    if (rulesOf(request.resource).allowUnconditionalUpdate !== false) return
    // Unlike other errors about objects, this one names the resource.
    throw invalidObject(subjectOf(request, request.name), [
      {
        reason: 'FieldValueInvalid',
        field: 'metadata.resourceVersion',
        value: 0,
        detail: 'must be specified for an update',
      },
    ])
  }
  if (sent === String(current.revision)) return
  if (!/^\d+$/.test(sent)) throw unknownError(`strconv.ParseUint: parsing ${quote(sent)}: invalid syntax`)
  throw conflict(subjectOf(request, request.name), optimisticLockErrorMessage)
}
