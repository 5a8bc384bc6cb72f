import { isApiError } from '#/api/errors.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'

export interface SliceWrites {
  readonly create: readonly EndpointSlice[]
  readonly update: readonly EndpointSlice[]
  readonly delete: readonly Stored<EndpointSlice>[]
}

/** Creates before updating and deleting: an endpoint may be in two slices for a moment, but never in none. */
export async function writeSlices(writes: SliceWrites, client: Client): Promise<void> {
  await Promise.all(writes.create.map(slice => client.create(endpointSlices, slice)))
  await Promise.all(writes.update.map(slice => client.update(endpointSlices, slice)))
  await Promise.all(writes.delete.map(slice => remove(slice, client)))
}

async function remove({ metadata }: Stored<EndpointSlice>, client: Client): Promise<void> {
  const { namespace, name, uid } = metadata
  try {
    await client.delete(endpointSlices, { namespace, name }, { preconditions: { uid } })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
