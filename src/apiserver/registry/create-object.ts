/** Object creation: naming, defaulting, admission, validation, and a create in the store. */
import { alreadyExists, badRequest, generateNameConflict } from '#/api/errors.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { generateName, subdomainNames } from '#/api/names.ts'
import { qualifiedResourceName } from '#/api/resource.ts'
import { validateMetadata } from '#/api/validate-metadata.ts'
import { withZeroFields } from '#/api/zero-fields.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import { convertTo, convertToStored, internalVersionOf, markRead } from './convert-objects.ts'
import type { Registry } from './registry.ts'
import { keyOf } from './store-keys.ts'
import { encodeForStore, StoredObject } from './stored-object.ts'
import { withUid, withGeneration, withoutStatus, withoutSystemMetadata } from './system-metadata.ts'
import { runMutatingAdmission } from './admit.ts'
import { readStore } from './get-stored-object.ts'
import { withManagedFields } from './managed-fields.ts'
import { noteOf } from '../request-origin.ts'
import { withReservation } from './reservation.ts'
import { requiresQualifiedFinalizers, rulesOf, withDefaults } from './resource-strategy.ts'
import { translateStoreErrors } from './store-errors.ts'
import { rejectInvalid, subjectOf, type WriteRequest } from './write-request.ts'

/** Creates an object, given in the version of the request. */
export async function createObject(
  registry: Registry,
  request: WriteRequest,
  sent: KubernetesObject,
): Promise<StoredObject> {
  for (let attempts = 1; ; attempts++) {
    const stored = await createIfAbsent(registry, request, sent)
    if (stored !== undefined) return stored
    const { generateName: prefix } = sent.metadata
    const subject = subjectOf(request, request.name || sent.metadata.name)
    if (sent.metadata.name || !prefix) throw alreadyExists(subject)
    if (attempts === generateAttemptsMax) throw generateNameConflict({ ...subject, name: prefix }, 1)
  }
}

/** Undefined if the name is already in use. */
export async function createIfAbsent(
  registry: Registry,
  request: WriteRequest,
  sent: KubernetesObject,
): Promise<StoredObject | undefined> {
  const stored = await tryCreate(registry, request, sent)
  return stored && (registry.genericHooks?.afterCreate?.(request, stored) ?? stored)
}

/** Maximum number of generated names tried. */
const generateAttemptsMax = 8

async function tryCreate(
  registry: Registry,
  request: WriteRequest,
  sent: KubernetesObject,
): Promise<StoredObject | undefined> {
  const { resource } = request
  const rules = rulesOf(resource)
  const slices = new TimeSlices(registry.platform.clock, 'create object')
  const named = withoutSystemMetadata(withNames(request, sent))
  // A generated name is not part of the admission request.
  const { name = '' } = named.metadata
  const defaulted = await convertTo(
    resource,
    withDefaults(rules, withZeroFields(named, resource.schema)),
    internalVersionOf(resource),
  )
  await slices.pause()
  // Fields set by admission are not owned by the request's field manager.
  const owned = await withManagedFields(registry, request, { object: defaulted, oldObject: undefined })
  await slices.pause()
  const attributes: AdmissionAttributes = {
    ...request,
    name,
    operation: 'CREATE',
    object: owned,
    oldObject: undefined,
  }
  const admitted = await runMutatingAdmission(registry, attributes)
  await slices.pause()
  const chosen = withChosenName(registry, withNames(request, admitted), rules)
  const identified = withUid(chosen, registry.platform)
  const statusless = withoutStatus(identified, resource)
  const stored = registry.scheme.byKind({ ...resource.storage, kind: resource.kind }) ?? resource
  for (const warning of rules.warningsBeforeCreate?.(statusless) ?? []) request.warn(warning)
  const prepared = rules.prepareForCreate?.(statusless) ?? statusless
  const hooks = registry.hooks.get(qualifiedResourceName(resource))
  const hookContext = { clock: registry.platform.clock, cache: registry.cache }
  const attributed = hooks?.withAuthor?.(prepared, request.user) ?? prepared
  const object = withGeneration(withZeroFields(attributed, stored.schema), undefined, resource)
  const metadataErrors = validateMetadata(object.metadata, {
    names: rules.names ?? subdomainNames,
    namespaced: resource.scope === 'Namespaced',
    qualifiedFinalizers: requiresQualifiedFinalizers(resource),
  })
  rejectInvalid(request, object, [
    ...(rules.placesMetadataErrors ? [] : metadataErrors),
    ...(rules.validate?.(object, metadataErrors) ?? []),
    ...((await hooks?.validate?.(object, undefined, hookContext)) ?? []),
  ])
  await slices.pause()
  for (const warning of rules.warnings?.(object, undefined) ?? []) request.warn(warning)
  await registry.admission.validate({ ...attributes, object })
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name ?? '')
  await slices.pause()
  // Fast path without a reservation; the create in the store is what guarantees uniqueness. The cache may have an
  // object that another API server has deleted.
  if (registry.cache.get(key) && (await readStore(registry, key))) return undefined
  return withReservation<StoredObject | undefined>({
    registry,
    request,
    object,
    oldObject: undefined,
    write: async reserved => {
      if (request.dryRun) return unwritten(key, sent, await convertToStored(resource, reserved))
      return insert({ registry, request, key }, reserved)
    },
    isWritten,
  })
}

/** The object of a dry run has the resourceVersion that the client sent. */
function unwritten(key: string, { metadata }: KubernetesObject, object: KubernetesObject): StoredObject {
  const { resourceVersion = '' } = metadata
  const revision = /^[1-9]\d{0,14}$/.test(resourceVersion) ? Number(resourceVersion) : 0
  return new StoredObject({ key, revision, value: encodeForStore(object) }, object)
}

function isWritten(stored: StoredObject | undefined): boolean {
  return stored !== undefined
}

interface Insertion {
  readonly registry: Registry
  readonly request: WriteRequest
  readonly key: string
}

async function insert(
  { registry, request, key }: Insertion,
  object: KubernetesObject,
): Promise<StoredObject | undefined> {
  const { resource, ignoresQuota } = request
  const written = await convertToStored(resource, object)
  const bytes = encodeForStore(written)
  registry.cache.noteWrite(bytes, written)
  const ttlMs = resource.rules?.ttlMs
  const result = await translateStoreErrors(request, 'create', () =>
    registry.store.create(key, bytes, {
      ...(ttlMs && { ttlMs }),
      ...(ignoresQuota && { ignoresQuota }),
      note: noteOf(request),
    }),
  )
  if (!result.written) return undefined
  const stored = new StoredObject({ key, revision: result.revision, value: bytes }, written)
  return written === object ? markRead(resource, stored) : stored
}

/** Sets name and namespace from the path; a cluster-scoped object has no namespace. */
function withNames({ resource, namespace, name }: WriteRequest, object: KubernetesObject): KubernetesObject {
  const { namespace: sent, ...metadata } = object.metadata
  if (resource.scope === 'Namespaced' && sent && sent !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (name && metadata.name && name !== metadata.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  }
  const given = metadata.name || name
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(resource.scope === 'Namespaced' && { namespace }),
      ...(given && { name: given }),
    },
  }
}

/** Generates the name last, so that a retry draws a new one. */
function withChosenName(
  { platform }: Registry,
  object: KubernetesObject,
  { namesItself = false }: KindRules,
): KubernetesObject {
  const { name, generateName: prefix } = object.metadata
  if (name || (!prefix && !namesItself)) return object
  if (!prefix)
    return { ...object, metadata: { ...object.metadata, name: platform.random.uuid('object name') } }
  return { ...object, metadata: { ...object.metadata, name: generateName(prefix, platform.random) } }
}
