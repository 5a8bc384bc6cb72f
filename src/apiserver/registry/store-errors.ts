import { apiError } from '#/api/errors.ts'
import { qualifiedResourceName } from '#/api/resource.ts'
import { StoreError } from '#/store/store.ts'
import type { WriteRequest } from './write-request.ts'

/** Converts store errors to API errors. */
export async function translateStoreErrors<T>(
  request: Pick<WriteRequest, 'resource'>,
  operation: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    if (error.reason === 'too-large') {
      throw apiError(
        'RequestEntityTooLarge',
        `object of ${qualifiedResourceName(request.resource)} exceeds the size limit of the store`,
        undefined,
        { cause: error },
      )
    }
    throw apiError(
      'ServiceUnavailable',
      `the store could not ${operation} the object: ${error.message}`,
      undefined,
      { cause: error },
    )
  }
}
