import type { KubernetesObject } from '#/api/metadata.ts'
import { qualifiedResourceName } from '#/api/resource.ts'
import { noReservation, type Reservation } from './hooks.ts'
import type { Registry } from './registry.ts'
import type { WriteRequest } from './write-request.ts'

export interface ReservedWrite<T> {
  readonly registry: Registry
  readonly request: WriteRequest
  readonly object: KubernetesObject
  /** Undefined for a creation. */
  readonly oldObject: KubernetesObject | undefined
  readonly write: (object: KubernetesObject) => Promise<T>
  /** False if the write lost a race. */
  readonly isWritten: (result: T) => boolean
}

/** Reserves what the resource's hooks require, writes, and commits the reservation or rolls it back. */
export async function withReservation<T>(options: ReservedWrite<T>): Promise<T> {
  const { registry, request, object, oldObject, write, isWritten } = options
  const reserve = registry.hooks.get(qualifiedResourceName(request.resource))?.reserve
  const reservation: Reservation = reserve
    ? await reserve(registry, { object, oldObject, dryRun: request.dryRun })
    : noReservation(object)
  let result: T
  try {
    result = await write(reservation.object)
  } catch (error) {
    await reservation.rollback()
    throw error
  }
  await (!request.dryRun && isWritten(result) ? reservation.commit() : reservation.rollback())
  return result
}
