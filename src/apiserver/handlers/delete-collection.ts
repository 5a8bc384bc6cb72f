/** deletecollection: deletes every object that the selectors match, like individual deletions. */
import { isApiError } from '#/api/errors.ts'
import type { ApiResponse } from '../request.ts'
import { listBody } from '../list-body.ts'
import { deleteObject } from '../registry/delete-object.ts'
import type { RequestScope } from './request-scope.ts'
import { readDeleteOptions } from './delete-options.ts'
import { readPage } from './list.ts'
import { readListOptions } from './list-options.ts'
import { writeRequest } from './write-request.ts'

export async function deleteCollection(scope: RequestScope): Promise<ApiResponse> {
  const listOptions = readListOptions(scope)
  const options = await readDeleteOptions(scope)
  const request = writeRequest(scope, options)
  const { objects, meta } = await readPage(scope, listOptions)
  for (let start = 0; start < objects.length; start += deletionsAtOnce) {
    await Promise.all(
      objects.slice(start, start + deletionsAtOnce).map(async ({ object: { metadata } }) => {
        const { name, namespace = '' } = metadata
        try {
          await deleteObject(scope.registry, { ...request, name, namespace }, options)
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
