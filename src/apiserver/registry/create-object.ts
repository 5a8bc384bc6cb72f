/** New objects: named, born, filled in, admitted, checked, and stored if nobody was first. */
import { convertObject } from '#/api/conversion.ts'
import { alreadyExists, badRequest, generateNameConflict } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { generateName, subdomainNames } from '#/api/names.ts'
import { validateMetadata } from '#/api/validate-metadata.ts'
import type { Registry } from './registry.ts'
import { keyOf } from './store-keys.ts'
import { encodeForStore, StoredObject } from './stored-object.ts'
import { withBirth, withGeneration, withoutStatus, withZeroStatus } from './system-metadata.ts'
import {
  admissionOf,
  attempt,
  check,
  hookName,
  type Ownership,
  rulesOf,
  subjectOf,
  withDefaults,
  withOwnership,
  withReservation,
  type WriteRequest,
} from './write.ts'

/** Stores a new object, given in the version of the request. */
export async function createObject(
  registry: Registry,
  request: WriteRequest,
  sent: KubernetesObject,
  ownership: Ownership = 'tracked',
): Promise<StoredObject> {
  for (let attempts = 1; ; attempts++) {
    const stored = await tryCreate(registry, request, sent, ownership)
    if (stored !== undefined) return stored
    const { generateName: prefix } = sent.metadata ?? {}
    const subject = subjectOf(request, request.name || sent.metadata?.name)
    if (sent.metadata?.name || !prefix) throw alreadyExists(subject)
    if (attempts === generateAttemptsMax) throw generateNameConflict({ ...subject, name: prefix }, 1)
  }
}

/** Names tried for an object that leaves its name to the server. */
const generateAttemptsMax = 8

/** Undefined when an object of this name exists. */
async function tryCreate(
  registry: Registry,
  request: WriteRequest,
  sent: KubernetesObject,
  ownership: Ownership,
): Promise<StoredObject | undefined> {
  const { resource } = request
  const rules = rulesOf(resource)
  const named = withNames(registry, request, sent)
  const born = convertObject(withDefaults(rules, withBirth(named, registry.platform)), resource.storage)
  const admitted = (await registry.admission.mutate(admissionOf(request, 'CREATE', born, undefined))) ?? born
  const fresh = withoutStatus(admitted, resource)
  const stored = registry.scheme.byKind({ ...resource.storage, kind: resource.kind }) ?? resource
  const prepared = withZeroStatus(rules.prepareForCreate?.(fresh) ?? fresh, stored)
  const authored = registry.hooks.get(hookName(resource))?.withAuthor?.(prepared, request.user) ?? prepared
  const counted = withGeneration(authored, undefined, resource)
  check(request, counted, [
    ...validateMetadata(counted.metadata ?? {}, {
      names: rules.names ?? subdomainNames,
      namespaced: resource.scope === 'Namespaced',
    }),
    ...(rules.validate?.(counted) ?? []),
  ])
  for (const warning of rules.warnings?.(counted, undefined) ?? []) request.warn(warning)
  const owned = ownership === 'given' ? counted : withOwnership(registry, request, undefined, counted)
  await registry.admission.validate(admissionOf(request, 'CREATE', owned, undefined))
  const key = keyOf(resource, owned.metadata?.namespace ?? '', owned.metadata?.name ?? '')
  // The store decides in the end; what is known to exist need not reserve anything first.
  if (registry.cache.get(key)) return undefined
  return withReservation(registry, request, owned, undefined, async object => {
    if (request.dryRun) return new StoredObject(key, 0, encodeForStore(object), object)
    return insert(registry, request, key, object)
  })
}

async function insert(
  registry: Registry,
  request: WriteRequest,
  key: string,
  object: KubernetesObject,
): Promise<StoredObject | undefined> {
  const bytes = encodeForStore(object)
  registry.cache.noteWrite(bytes, object)
  const ttlMs = request.resource.rules?.ttlMs
  const result = await attempt(request, 'create', () =>
    registry.store.create(key, bytes, { ...(ttlMs && { ttlMs }) }),
  )
  return result.written ? new StoredObject(key, result.revision, bytes, object) : undefined
}

function withNames(
  registry: Registry,
  { resource, namespace, name }: WriteRequest,
  object: KubernetesObject,
): KubernetesObject {
  const metadata = object.metadata ?? {}
  if (resource.scope === 'Namespaced') {
    if (metadata.namespace && metadata.namespace !== namespace) {
      throw badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      )
    }
  } else if (metadata.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (name && metadata.name && name !== metadata.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  }
  const given = metadata.name || name
  const chosen =
    given ||
    (metadata.generateName ? generateName(metadata.generateName, registry.platform.random) : undefined)
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(resource.scope === 'Namespaced' && { namespace }),
      ...(chosen && { name: chosen }),
    },
  }
}
