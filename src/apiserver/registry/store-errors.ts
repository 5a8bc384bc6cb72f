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
      const message = `object of ${qualifiedResourceName(request.resource)} exceeds the size limit of the store`
      throw apiError('RequestEntityTooLarge', message).causedBy(error)
    }
    const message = `the store could not ${operation} the object: ${error.message}`
    throw apiError('ServiceUnavailable', message).causedBy(error)
  }
}
