/**
 * The rules of a kind beyond its schema: defaulting, validation, immutable fields, fields set by the server.
 * Pure functions of the object, like the strategies of Kubernetes' registry. `kinds/rules.ts` lists
 * them; a kind without an entry has only the rules common to all objects (metadata, generation, the
 * separation of spec and status), which are implemented in `apiserver/`.
 */
import type { FieldError } from './field-error.ts'
import type { KubernetesObject } from './metadata.ts'
import type { NameRule } from './names.ts'
import type { GroupVersion } from './resource.ts'

export interface KindRules<T extends KubernetesObject = KubernetesObject> {
  /** Name validation; DNS subdomain if absent. */
  readonly names?: NameRule
  /** True if finalizers need not be qualified (`example.com/cleanup`). Custom resources do not need it either. */
  readonly allowsUnqualifiedFinalizers?: boolean
  /** Defaulting. Returns the same object if nothing is missing. */
  readonly withDefaults?: (object: T) => KubernetesObject
  /**
   * Sets or clears server-controlled fields of a new object, after defaulting, such as the phase of a pod.
   * The status has already been cleared.
   */
  readonly prepareForCreate?: (object: T) => KubernetesObject
  /** Sets or clears server-controlled fields in an update of the main resource. */
  readonly prepareForUpdate?: (object: T, old: T) => KubernetesObject
  /**
   * Sets or clears server-controlled fields in a status update. Everything outside the status has already
   * been reset to the stored object.
   */
  readonly prepareForStatusUpdate?: (object: T, old: T, now: string) => KubernetesObject
  /** Validation errors of a new object, excluding metadata. */
  readonly validate?: (object: T, metadataErrors?: readonly FieldError[]) => readonly FieldError[]
  /** Validation errors of an update, excluding metadata: the object itself and immutable fields. */
  readonly validateUpdate?: ValidateUpdate<T>
  readonly validateStatusUpdate?: ValidateUpdate<T>
  /** Warnings for a new object before it is prepared, sent even if it is rejected. */
  readonly warningsBeforeCreate?: (object: T) => readonly string[]
  /** Warnings for an object that is accepted: deprecated fields, settings without effect. */
  readonly warnings?: (object: T, old: T | undefined) => readonly string[]
  /** Warning for every use of the kind: `is deprecated in v1.19+`. */
  readonly deprecation?: string
  /** The whole text of that warning, for a custom resource that has its own. */
  readonly deprecationWarning?: string
  /** True if a status update restores labels, annotations, finalizers and owner references. */
  readonly statusKeepsMetadata?: boolean
  /**
   * Paths of fields that a write does not own, by subresource (`''` for the main resource). Absent: the main
   * resource does not own the status, and the status subresource does not own the spec.
   */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>>
  /** Subresources other than status that write a part of the object: `ephemeralcontainers`, `approval`. */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy<T>>>
  /** Absent if the versions of the kind are converted by `api/conversion.ts`. */
  readonly conversion?: VersionConversion
  /** Where the object has the fields of its Scale; `spec.replicas` and so on if absent. */
  readonly scale?: ScalePaths
  /** Fields supported by field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>
  /** The error for other fields in field selectors, of kinds whose text differs from the usual one. */
  readonly unsupportedFieldLabel?: (field: string) => string
  /** True if an update may create the object; only for old kinds whose clients rely on it. */
  readonly allowCreateOnUpdate?: boolean
  /** True if an update may omit `metadata.resourceVersion` and overwrite unconditionally. Default: true. */
  readonly allowUnconditionalUpdate?: boolean
  /** Grace period for deleting the object, given the period requested by the client. Zero if absent. */
  readonly gracePeriodSeconds?: (object: T, asked: number | undefined) => number
  /**
   * True if something other than finalizers in the metadata prevents the removal of an object that is being
   * deleted.
   */
  readonly hasPendingFinalization?: (object: T) => boolean
  /**
   * Present if the first deletion only begins: the object gets a deletionTimestamp, no grace period and no new
   * generation. Sets additional fields.
   */
  readonly beginDeletion?: (object: T, now: string) => KubernetesObject
  /** Finalizers that are added when deletion begins, in place of those of the propagation policy. */
  readonly deletionFinalizers?: readonly string[]
  /** True if a deletion without a propagation policy orphans dependents; only for old kinds. */
  readonly orphanDependentsByDefault?: boolean
  /** Warning returned when a deletion orphans dependents by default. */
  readonly orphanDependentsWarning?: string
  /** A deletion returns the deleted object instead of a Status, which OpenAPI documents or not. */
  readonly returnDeletedObject?: true | 'undocumented'
  /** Time to live after the last write; unlimited if absent. */
  readonly ttlMs?: number
  /** True if objects can be updated when the store is full. */
  readonly updatesIgnoreQuota?: boolean
  /**
   * True if `metadata.generation` is incremented by changes outside metadata and status; `on-update` if a new
   * object has none. Default: false.
   */
  readonly tracksGeneration?: boolean | 'on-update'
  /** Metadata whose changes increment the generation, too. */
  readonly generationCounts?: 'annotations' | 'labels'
  /** True if a new object without a name gets a UUID as its name. */
  readonly namesItself?: boolean
  /** True if a deletion ignores the propagation policy, because garbage collection does not follow the kind. */
  readonly ignoresPropagationPolicy?: boolean
  /**
   * True if `validate` returns the errors of the metadata among its own, because some kinds do not report them first
   * or at all.
   */
  readonly placesMetadataErrors?: boolean
  /** True if an update does not report changes of immutable metadata twice, as those of most kinds do. */
  readonly validatesMetadataOnce?: boolean
  /**
   * Annotations in which a version stores fields that it does not have. The metadata of an object alone, in
   * PartialObjectMetadata and Tables, is without them.
   */
  readonly conversionAnnotations?: readonly string[]
  /** Fields of an object without content, as in bookmarks, which conversion from Kubernetes' internal types sets. */
  readonly emptyObject?: EmptyObject
  /** True if the status of a new object is kept instead of being cleared. */
  readonly keepStatusOnCreate?: boolean
}

export interface EmptyObject {
  readonly annotations?: Readonly<Record<string, string>>
  readonly spec?: object
}

/** `metadataErrors` have been found before. */
export type ValidateUpdate<T extends KubernetesObject = KubernetesObject> = (
  object: T,
  old: T,
  metadataErrors?: readonly FieldError[],
) => readonly FieldError[]

/** A subresource that writes a part of the object. */
export interface SubresourceStrategy<T extends KubernetesObject = KubernetesObject> {
  /** Returns the stored object with the part from the request. */
  readonly merge: (old: T, sent: T, now: string) => KubernetesObject
  /** Replaces `validateUpdate` of the kind. */
  readonly validate?: (object: T, old: T) => readonly FieldError[]
}

/**
 * Conversion of a kind whose versions have schemas of their own. Its objects are admitted and validated in the
 * version of the request, and converted when they are read from and written to the store.
 */
export interface VersionConversion {
  /** Changes with the definition of the kind; results are cached by it. */
  readonly name: string
  /** Converts objects of any version; the results are in the same order. Throws or rejects with ApiError. */
  readonly convert: (objects: readonly KubernetesObject[], to: GroupVersion) => ConvertedObjects
  /** The same for objects from the store, whose schema may have changed after they were written. */
  readonly decode: (objects: readonly KubernetesObject[], to: GroupVersion) => ConvertedObjects
}

/** A promise only if a webhook is called. */
export type ConvertedObjects = readonly KubernetesObject[] | Promise<readonly KubernetesObject[]>

/** Paths of the fields of a Scale, from the root of the object. */
export interface ScalePaths {
  readonly specReplicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** A field with the selector as text. */
  readonly labelSelector?: readonly string[]
}

/** The rules of the kinds in a group, by kind. */
export type GroupRules = Readonly<Record<string, KindRules<never>>>
