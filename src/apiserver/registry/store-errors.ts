import { apiError, ApiError, internalError, unknownError } from '#/api/errors.ts'
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
    if (error.reason === 'full') throw unknownError(spaceExceeded).causedBy(error)
    const damage = apiErrorOf(error)
    if (damage) throw damage
    const message = `the store could not ${operation} the object: ${error.message}`
    throw apiError('ServiceUnavailable', message).causedBy(error)
  }
}

/** etcd's answer, which clients of Kubernetes know. */
const spaceExceeded = 'etcdserver: mvcc: database space exceeded'

/** The API error of a failed request, also if a stored value is damaged; undefined for an unexpected error. */
export function apiErrorOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  const isDamage = error instanceof StoreError && error.reason === 'damaged'
  return isDamage ? internalError(error.message, error) : undefined
}
