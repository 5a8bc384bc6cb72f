/**
 * What a kind means beyond the shape of its fields: defaults, what is valid, what may change, what the server
 * decides itself. Pure functions of the object. Each group's folder in `kinds/` has a `rules.ts` with the
 * rules of its kinds; a kind without an entry has only the rules all objects share. What those are (metadata,
 * generation, the line between spec and status) is `apiserver/`'s business and not repeated in a kind.
 */
import type { FieldError } from './field-error.ts'
import type { KubernetesObject } from './metadata.ts'
import type { NameRule } from './names.ts'

export interface KindRules<T extends KubernetesObject = KubernetesObject> {
  /** What names look like; DNS subdomains when absent. */
  readonly names?: NameRule
  /** Fills in what an object leaves out; the very same object when nothing is missing. */
  readonly withDefaults?: (object: T) => KubernetesObject
  /**
   * What the server sets or clears in a new object, after defaults: the phase of a pod, say. Status is empty
   * already.
   */
  readonly prepareForCreate?: (object: T) => KubernetesObject
  /** What the server sets or clears in an update of everything but the status. */
  readonly prepareForUpdate?: (object: T, before: T) => KubernetesObject
  /**
   * What the server sets or clears in an update of the status. Everything but the status is as before
   * already.
   */
  readonly prepareForStatusUpdate?: (object: T, before: T, now: string) => KubernetesObject
  /** All that is wrong with a new object, metadata apart. */
  readonly validate?: (object: T) => readonly FieldError[]
  /** All that is wrong with an update, metadata apart: the object itself, and fields that may not change. */
  readonly validateUpdate?: (object: T, before: T) => readonly FieldError[]
  readonly validateStatusUpdate?: (object: T, before: T) => readonly FieldError[]
  /**
   * What a client should hear about an object that is accepted: deprecated fields, things that cannot work as
   * meant.
   */
  readonly warnings?: (object: T, before: T | undefined) => readonly string[]
  /** What everybody hears who uses the kind at all: `is deprecated in v1.19+`. */
  readonly deprecation?: string
  /** Subresources beside the status that are parts of the object: `ephemeralcontainers`, `approval`. */
  readonly parts?: Readonly<Record<string, KindPart<T>>>
  /** Values that a field selector may ask for beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>
  /** An update may create an object that is not there: only of old kinds that clients rely on. */
  readonly createOnUpdate?: boolean
  /** Whether an update may leave `metadata.resourceVersion` out and win anyway. True when absent. */
  readonly unconditionalUpdate?: boolean
  /**
   * How long an object that is deleted may take to end, given what the client asked for. At once when absent.
   */
  readonly gracePeriodSeconds?: (object: T, asked: number | undefined) => number
  /** Whether something beside the finalizers in its metadata keeps an object that is being deleted. */
  readonly isHeld?: (object: T) => boolean
  /** What else the server sets in an object when its deletion begins. */
  readonly beginDeletion?: (object: T) => KubernetesObject
  /** Whether a deletion that says nothing of dependents leaves them alone: only of old kinds. */
  readonly orphansDependents?: boolean
  /** What a client hears whose deletion leaves dependents alone although it did not say so. */
  readonly orphaningWarning?: string
  /** Whether deleting answers with the object although it is gone, instead of with a status. */
  readonly returnsDeleted?: boolean
  /** How long an object lives after its last write; for ever when absent. */
  readonly ttlMs?: number
  /**
   * Whether `metadata.generation` counts the changes of everything but metadata and status. False when
   * absent.
   */
  readonly tracksGeneration?: boolean
  /** Whether an object may be created with its status, which is dropped otherwise. */
  readonly createdWithStatus?: boolean
}

/** A part of an object that is written through a path of its own. */
export interface KindPart<T extends KubernetesObject = KubernetesObject> {
  /** The stored object with the part as it was sent. */
  readonly merge: (before: T, sent: T, now: string) => KubernetesObject
  /** In the place of the kind's rule for updates. */
  readonly validate?: (object: T, before: T) => readonly FieldError[]
}

/** The rules of a group's kinds, by kind. */
export type GroupRules = Readonly<Record<string, KindRules<never>>>
