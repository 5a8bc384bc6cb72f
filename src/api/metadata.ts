/**
 * What every API object has: version, kind and metadata; and the small questions that everybody asks of them.
 * Objects are immutable: what changes one returns another, or the same where nothing changes.
 */
import type { Int64 } from './int64.ts'
import { quote } from './quote.ts'

export interface KubernetesObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: ObjectMeta
}

export interface ObjectMeta {
  readonly annotations?: Readonly<Record<string, string>>
  readonly creationTimestamp?: string
  /** Set together with `deletionTimestamp`; may only become shorter. */
  readonly deletionGracePeriodSeconds?: Int64
  /**
   * Set once the object is being deleted; it stays until the grace period is over and no finalizer is left.
   */
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  /** The beginning of a name that the server completes when `name` is absent. */
  readonly generateName?: string
  /** Grows by one with each change of what is wanted, as opposed to what is. */
  readonly generation?: Int64
  readonly labels?: Readonly<Record<string, string>>
  readonly managedFields?: readonly ManagedFieldsEntry[]
  readonly name?: string
  readonly namespace?: string
  readonly ownerReferences?: readonly OwnerReference[]
  /** The store's revision of the object's last write. Clients treat it as opaque. */
  readonly resourceVersion?: string
  readonly selfLink?: string
  readonly uid?: string
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** The owner is the one controller that manages the object; true in at most one reference. */
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ManagedFieldsEntry {
  readonly apiVersion?: string
  readonly fieldsType?: string
  readonly fieldsV1?: Readonly<Record<string, unknown>>
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly time?: string
}

/** The reference to the controller that manages the object. */
export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find(reference => reference.controller === true)
}

/** Identity is the uid: an owner that was deleted and made again under its name is another one. */
export function isControlledBy(object: KubernetesObject, owner: KubernetesObject): boolean {
  const uid = owner.metadata?.uid
  return uid !== undefined && controllerOf(object)?.uid === uid
}

/** A reference that makes the owner the controller. Undefined when the owner has not been stored yet. */
export function controllerReference(owner: KubernetesObject): OwnerReference | undefined {
  const { apiVersion, kind, metadata } = owner
  if (!apiVersion || !kind || !metadata?.name || !metadata.uid) return undefined
  const { name, uid } = metadata
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

export function isBeingDeleted(object: KubernetesObject): boolean {
  return object.metadata?.deletionTimestamp !== undefined
}

export function hasFinalizer(object: KubernetesObject, finalizer: string): boolean {
  return object.metadata?.finalizers?.includes(finalizer) ?? false
}

export function withFinalizer<T extends KubernetesObject>(object: T, finalizer: string): T {
  if (hasFinalizer(object, finalizer)) return object
  const { finalizers = [], ...rest } = object.metadata ?? {}
  return { ...object, metadata: { ...rest, finalizers: [...finalizers, finalizer] } }
}

/** Removes every occurrence; the last one takes the field with it. */
export function withoutFinalizer<T extends KubernetesObject>(object: T, finalizer: string): T {
  if (!hasFinalizer(object, finalizer)) return object
  const { finalizers = [], ...rest } = object.metadata ?? {}
  const left = finalizers.filter(each => each !== finalizer)
  return { ...object, metadata: left.length === 0 ? rest : { ...rest, finalizers: left } }
}

/** Which object of a kind: what queues and caches hold instead of the object. */
export interface NamespacedName {
  /** Empty for an object outside of namespaces. */
  readonly namespace: string
  readonly name: string
}

/** `namespace/name`, or just the name outside of namespaces. */
export function formatKey(key: NamespacedName): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`
}

export function keyOf(object: KubernetesObject): string {
  return formatKey(namespacedNameOf(object))
}

function namespacedNameOf(object: KubernetesObject): NamespacedName {
  return { namespace: object.metadata?.namespace ?? '', name: object.metadata?.name ?? '' }
}

/** Throws Error when the text has more than one slash, which no key of ours has. */
export function parseKey(text: string): NamespacedName {
  const slash = text.indexOf('/')
  if (slash === -1) return { namespace: '', name: text }
  if (text.includes('/', slash + 1)) throw new Error(`unexpected key format: ${quote(text)}`)
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}
