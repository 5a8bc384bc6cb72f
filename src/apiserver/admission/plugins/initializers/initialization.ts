/**
 * Initializers: objects stay hidden until the initializers listed in their metadata have processed them.
 * Kubernetes had them from 1.7 to 1.13; here they exist only while the Initializers admission plugin is
 * enabled.
 * https://v1-13.docs.kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#initializers
 */
import type { Status } from '#/api/errors.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import type { StoredObject } from '../../../registry/stored-object.ts'

export interface Initializers {
  /** In order; the first one is next. */
  readonly pending?: readonly Initializer[]
  /** Failure reported by an initializer. */
  readonly result?: Partial<Status>
}

interface Initializer {
  readonly name: string
}

type InitializedMeta = ObjectMeta & { readonly initializers?: Initializers }

/** Undefined for an initialized object. */
export function initializersOf(object: KubernetesObject | undefined): Initializers | undefined {
  const metadata: InitializedMeta | undefined = object?.metadata
  return metadata?.initializers
}

export function withInitializers(
  object: KubernetesObject,
  initializers: Initializers | undefined,
): KubernetesObject {
  const { initializers: _, ...metadata }: InitializedMeta = object.metadata
  const changed: InitializedMeta = initializers ? { ...metadata, initializers } : metadata
  return { ...object, metadata: changed }
}

const inJson = Buffer.from('"initializers":')

export function isUninitialized(stored: StoredObject): boolean {
  if (!stored.contains(inJson)) return false
  try {
    return initializersOf(stored.object) !== undefined
  } catch {
    // An unreadable object is not hidden, so that reading it reports the error.
    return false
  }
}
