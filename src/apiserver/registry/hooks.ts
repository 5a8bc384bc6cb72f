/**
 * Side effects of writes that pure kind rules cannot have: the requesting user, addresses allocated from a
 * pool, validation against other code. Reservations are made before the write and rolled back if it fails.
 */
import type { FieldError } from '#/api/field-error.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Clock } from '#/platform/platform.ts'
import type { UserInfo } from '../request.ts'
import type { Registry } from './registry.ts'
import type { StoredObject } from './stored-object.ts'
import type { WriteRequest } from './write-request.ts'

export interface ResourceHooks {
  /** Sets fields of a new object from the requesting user. */
  readonly withAuthor?: (object: KubernetesObject, user: UserInfo) => KubernetesObject
  /** Additional validation; `oldObject` is undefined for a creation. */
  readonly validate?: (
    object: KubernetesObject,
    oldObject: KubernetesObject | undefined,
    context: HookContext,
  ) => readonly FieldError[] | Promise<readonly FieldError[]>
  /**
   * Called with the validated object just before it is stored. Throws ApiError to reject.
   */
  readonly reserve?: (registry: Registry, options: ReserveOptions) => Promise<Reservation>
  /** Called after the object was deleted from the store. */
  readonly afterDelete?: (registry: Registry, object: KubernetesObject) => Promise<void>
}

export interface HookContext {
  /** Long validation yields to the event loop with `turn`. */
  readonly clock: Pick<Clock, 'turn'>
  /** Other objects; absent in tests that need none. */
  readonly cache?: Pick<Registry['cache'], 'get'>
}

/** Hooks into the writes of all resources, for a feature that is not part of one kind. */
export interface GenericHooks {
  /** The resource whose rules apply to an update of the object. */
  readonly resourceForUpdate?: (resource: Resource, oldObject: KubernetesObject) => Resource
  /**
   * Called after an object was created. Resolves with the object to return. Throws ApiError to fail the request;
   * the object stays.
   */
  readonly afterCreate?: (request: WriteRequest, created: StoredObject) => Promise<StoredObject>
  /** Called after an object was updated. */
  readonly afterUpdate?: (registry: Registry, request: WriteRequest, updated: StoredObject) => Promise<void>
}

export interface ReserveOptions {
  readonly object: KubernetesObject
  /** Undefined for a creation. */
  readonly oldObject: KubernetesObject | undefined
  readonly dryRun: boolean
}

export interface Reservation {
  /** The object with the reserved values. */
  readonly object: KubernetesObject
  /** Called after the object was stored: releases what it no longer uses. */
  commit(): Promise<void>
  /** Called if the object was not stored: releases the reservation. */
  rollback(): Promise<void>
}

/** An empty reservation. */
export function noReservation(object: KubernetesObject): Reservation {
  return { object, commit: async () => undefined, rollback: async () => undefined }
}
