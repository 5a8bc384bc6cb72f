/**
 * What some resources need around a write that a pure rule of the kind cannot do: who asks, an address taken
 * from a pool, another object that must agree. Taken before the write, given back when it fails.
 */
import type { FieldError } from '#/api/field-error.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { UserInfo } from '../request.ts'
import type { Registry } from './registry.ts'

export interface ResourceHooks {
  /** A new object, prepared by its rules, with what it tells of the user who creates it. */
  readonly withAuthor?: (object: KubernetesObject, user: UserInfo) => KubernetesObject
  /** What is wrong with an object that its rules cannot tell; `before` is undefined for a creation. */
  readonly validate?: (
    object: KubernetesObject,
    before: KubernetesObject | undefined,
  ) => readonly FieldError[]
  /**
   * Called with the valid object just before it is stored; `before` is undefined for a creation. Throws
   * ApiError to refuse.
   */
  readonly reserve?: (
    registry: Registry,
    object: KubernetesObject,
    before: KubernetesObject | undefined,
    dryRun: boolean,
  ) => Promise<Reservation>
  /** Called once the object is gone from the store. */
  readonly afterDelete?: (registry: Registry, object: KubernetesObject) => Promise<void>
}

export interface Reservation {
  /** The object with what was taken for it. */
  readonly object: KubernetesObject
  /** The object is stored: what it no longer needs is given back. */
  commit(): Promise<void>
  /** The object was not stored: what was taken for it is given back. */
  rollback(): Promise<void>
}

/** Nothing was taken. */
export function noReservation(object: KubernetesObject): Reservation {
  return { object, commit: async () => undefined, rollback: async () => undefined }
}
