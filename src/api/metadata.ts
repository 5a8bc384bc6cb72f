/**
 * Type metadata and object metadata, with small accessors. Objects are immutable: functions return a new
 * object, or the same one if nothing changes.
 */
import { assert } from '#/base/assert.ts'
import type { Int64 } from './text/int64.ts'
import type { JsonObject } from './text/json-object.ts'
import { quote } from './text/quote.ts'

export interface KubernetesObject {
  readonly apiVersion?: string
  readonly kind?: string
  /** Empty if the sender omitted it. */
  readonly metadata: ObjectMeta
}

export interface ObjectMeta {
  readonly annotations?: Readonly<Record<string, string>>
  readonly creationTimestamp?: string
  /** Set together with `deletionTimestamp`; may only be reduced. */
  readonly deletionGracePeriodSeconds?: Int64
  /**
   * Set when the object is being deleted; it is removed once the grace period has passed and no finalizers
   * are left.
   */
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  /** Prefix of a name that the server generates if `name` is absent. */
  readonly generateName?: string
  /** Incremented with each change of the desired state. */
  readonly generation?: Int64
  readonly labels?: Readonly<Record<string, string>>
  readonly managedFields?: readonly ManagedFieldsEntry[]
  readonly name?: string
  readonly namespace?: string
  readonly ownerReferences?: readonly OwnerReference[]
  /** Store revision of the last write. Opaque to clients. */
  readonly resourceVersion?: string
  readonly selfLink?: string
  readonly uid?: string
}

/**
 * An object as the API server stores and returns it. `namespace` stays optional: cluster-scoped objects have
 * none, and in-process clients share the server's objects without a copy.
 */
export type Stored<T extends KubernetesObject = KubernetesObject> = T & { readonly metadata: StoredMeta }

export interface StoredMeta extends ObjectMeta {
  readonly creationTimestamp: string
  readonly name: string
  readonly resourceVersion: string
  readonly uid: string
}

/** An object with a known name, which need not be stored yet. */
export type Named<T extends KubernetesObject = KubernetesObject> = T & {
  readonly metadata: { readonly name: string }
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** True if the owner is the managing controller; true in at most one reference. */
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

/** A decoded value as an object. Adds empty metadata if there is none. */
export function objectOf(value: JsonObject): KubernetesObject {
  const complete = value['metadata'] === undefined ? { ...value, metadata: {} } : value
  return complete as unknown as KubernetesObject
}

/** An object as the JSON value that it is. */
export function jsonOf(object: KubernetesObject): JsonObject {
  return object as unknown as JsonObject
}

/** The controllerRef of an object. */
export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(reference => reference.controller === true)
}

/** Compares uids: an owner that was deleted and recreated with the same name is a different object. */
export function isControlledBy(object: KubernetesObject, owner: KubernetesObject): boolean {
  const uid = owner.metadata.uid
  return uid !== undefined && controllerOf(object)?.uid === uid
}

/** An owner reference with `controller: true`. */
export function controllerReference({ apiVersion, kind, metadata }: Stored): OwnerReference {
  assert(apiVersion && kind, 'the owner has no apiVersion or kind')
  const { name, uid } = metadata
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

export function isBeingDeleted(object: KubernetesObject): boolean {
  return object.metadata.deletionTimestamp !== undefined
}

export function hasFinalizer(object: KubernetesObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false
}

export function withFinalizer<T extends KubernetesObject>(object: T, finalizer: string): T {
  if (hasFinalizer(object, finalizer)) return object
  const { finalizers = [], ...rest } = object.metadata
  return { ...object, metadata: { ...rest, finalizers: [...finalizers, finalizer] } }
}

/** Removes every occurrence, and the field when the list becomes empty. */
export function withoutFinalizer<T extends KubernetesObject>(object: T, finalizer: string): T {
  if (!hasFinalizer(object, finalizer)) return object
  const { finalizers = [], ...rest } = object.metadata
  const left = finalizers.filter(each => each !== finalizer)
  return { ...object, metadata: left.length === 0 ? rest : { ...rest, finalizers: left } }
}

/** The value of an annotation; ignores inherited properties such as `constructor`. */
export function annotationOf(object: KubernetesObject, name: string): string | undefined {
  const annotations = object.metadata.annotations
  return annotations !== undefined && Object.hasOwn(annotations, name) ? annotations[name] : undefined
}

/** Returns the same object if the annotations are already set to these values. */
export function withAnnotations<T extends KubernetesObject>(
  object: T,
  annotations: Readonly<Record<string, string>>,
): T {
  const isSame = Object.entries(annotations).every(([name, value]) => annotationOf(object, name) === value)
  if (isSame) return object
  const { metadata } = object
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } }
}

/** Removes the `annotations` field when its last annotation is removed. */
export function withoutAnnotation<T extends KubernetesObject>(object: T, name: string): T {
  if (annotationOf(object, name) === undefined) return object
  const { annotations = {}, ...rest } = object.metadata
  const left = Object.fromEntries(Object.entries(annotations).filter(([each]) => each !== name))
  const metadata = Object.keys(left).length === 0 ? rest : { ...rest, annotations: left }
  return { ...object, metadata }
}

/** Identifies an object of a given kind, as used in work queues and caches. */
export interface NamespacedName {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/** `namespace/name`, or only the name for a cluster-scoped object. */
export function formatKey(key: NamespacedName): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`
}

export function keyOf(object: KubernetesObject): string {
  return formatKey(namespacedNameOf(object))
}

function namespacedNameOf(object: KubernetesObject): NamespacedName {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' }
}

/** Throws Error if the text has more than one slash. */
export function parseKey(text: string): NamespacedName {
  const slash = text.indexOf('/')
  if (slash === -1) return { namespace: '', name: text }
  if (text.includes('/', slash + 1)) throw new Error(`unexpected key format: ${quote(text)}`)
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}
