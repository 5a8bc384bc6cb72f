/** deletecollection: deletes every object that the selectors match, like individual deletions. */
import { isApiError } from '#/api/errors.ts'
import type { ApiResponse } from '../request.ts'
import { listBody } from '../list-body.ts'
import type { Call } from './call.ts'
import { deleteObject } from './delete.ts'
import { readDeleteOptions } from './delete-options.ts'
import { readPage } from './list.ts'
import { readListOptions } from './list-options.ts'

export async function removeCollection(call: Call): Promise<ApiResponse> {
  const listOptions = readListOptions(call)
  const options = await readDeleteOptions(call)
  // Includes uninitialized objects, which would otherwise never be deleted.
  const { cache } = call.registry
  const { objects, meta } = await readPage({ ...call, objects: cache.unhidden ?? cache }, listOptions)
  for (let start = 0; start < objects.length; start += deletionsAtOnce) {
    await Promise.all(
      objects.slice(start, start + deletionsAtOnce).map(async ({ key }) => {
        try {
          await deleteObject(call, key, options)
        } catch (error) {
          // Already deleted concurrently.
          if (!isApiError(error, 'NotFound')) throw error
        }
      }),
    )
  }
  return { status: 200, body: listBody(call.view, objects, meta, call) }
}

const deletionsAtOnce = 32
