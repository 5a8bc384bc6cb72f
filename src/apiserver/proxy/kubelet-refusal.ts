/** Error responses of kubelets. */
import { messageOf } from '#/base/message-of.ts'
import { internalError, isApiError, tooManyRequests, type ApiError } from '#/api/errors.ts'
import type { HttpClientResponse } from '#/platform/http-client.ts'

const retryAfterSeconds = 1

/** The error of a kubelet that has too many sessions or streams already; undefined for other responses. */
export async function tooManyStreams(response: HttpClientResponse): Promise<ApiError | undefined> {
  if (response.status !== 429) return undefined
  return tooManyRequests((await refusalText(response)).trim(), retryAfterSeconds)
}

/** Maximum size of an error response of the kubelet. */
const refusalBytesMax = 50_000

/** The beginning of the response, which is a text. */
export async function refusalText({ body }: HttpClientResponse): Promise<string> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of body) {
      pieces.push(piece)
      sizeBytes += piece.length
      if (sizeBytes >= refusalBytesMax) break
    }
  } catch (error) {
    if (isApiError(error)) throw error
    throw internalError(messageOf(error), error)
  }
  return Buffer.concat(pieces).subarray(0, refusalBytesMax).toString()
}
