/** deletecollection: deletes every object that the selectors match, like individual deletions. */
import { isApiError } from '#/api/errors.ts'
import type { ApiResponse } from '../request.ts'
import { listBody } from '../list-body.ts'
import type { RequestScope } from './request-scope.ts'
import { deleteObject } from './delete.ts'
import { readDeleteOptions } from './delete-options.ts'
import { readPage } from './list.ts'
import { readListOptions } from './list-options.ts'

export async function deleteCollection(scope: RequestScope): Promise<ApiResponse> {
  const listOptions = readListOptions(scope)
  const options = await readDeleteOptions(scope)
  const { objects, meta } = await readPage(scope, listOptions)
  for (let start = 0; start < objects.length; start += deletionsAtOnce) {
    await Promise.all(
      objects.slice(start, start + deletionsAtOnce).map(async ({ key }) => {
        try {
          await deleteObject(scope, key, options)
        } catch (error) {
          // Already deleted concurrently.
          if (!isApiError(error, 'NotFound')) throw error
        }
      }),
    )
  }
  return { status: 200, body: listBody(scope.view, { objects, meta }, scope) }
}

const deletionsAtOnce = 32
