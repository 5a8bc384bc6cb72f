/**
 * Objects that somebody must complete before others see them. Who still has to act on one stands in its metadata. Old:
 * Kubernetes had it from 1.7 to 1.13, and here it is there while the admission plugin Initializers is on.
 * https://v1-13.docs.kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#initializers
 */
import type { Status } from '#/api/errors.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { StoredObject } from './stored-object.ts'

export interface Initializers {
  /** The first of them acts next. */
  readonly pending?: readonly Initializer[]
  /** Why one of them gave the object up. */
  readonly result?: Partial<Status>
}

interface Initializer {
  readonly name: string
}

type InitializedMeta = ObjectMeta & { readonly initializers?: Initializers }

/** Undefined for an object that is complete. */
export function initializersOf({ metadata = {} }: KubernetesObject): Initializers | undefined {
  return (metadata as InitializedMeta).initializers ?? undefined
}

export function withInitializers(
  object: KubernetesObject,
  initializers: Initializers | undefined,
): KubernetesObject {
  const { initializers: _, ...metadata }: InitializedMeta = object.metadata ?? {}
  const changed: InitializedMeta = initializers ? { ...metadata, initializers } : metadata
  return { ...object, metadata: changed }
}

const inJson = Buffer.from('"initializers":')

export function isUninitialized(stored: StoredObject): boolean {
  if (!stored.contains(inJson)) return false
  try {
    return initializersOf(stored.object) !== undefined
  } catch {
    // What cannot be read hides nothing: whoever asks for it is told.
    return false
  }
}

const completable = new WeakMap<Resource, Resource>()

/**
 * Nobody has seen a pod that is not initialized, so nothing of it is fixed: it is prepared and checked as if it were
 * new. Other kinds change by their own rules.
 */
export function asCompleted(resource: Resource): Resource {
  if (resource.group !== '' || resource.plural !== 'pods') return resource
  const known = completable.get(resource)
  if (known) return known
  const { prepareForCreate, validate, ...rules } = resource.rules ?? {}
  const made: Resource = {
    ...resource,
    rules: {
      ...rules,
      ...(prepareForCreate && { prepareForCreate, prepareForUpdate: prepareForCreate }),
      ...(validate && { validate, validateUpdate: validate }),
    },
  }
  completable.set(resource, made)
  return made
}
