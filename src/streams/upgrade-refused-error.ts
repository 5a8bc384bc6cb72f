/** The answer of a server that does not upgrade a connection. */
import type { HttpClientResponse } from '#/platform/http-client.ts'

export class UpgradeRefusedError extends Error {
  readonly status: number
  /** Text of the response: for an API server usually a `Status` in JSON. */
  readonly body: string

  constructor({ status, body }: { readonly status: number; readonly body: string }, message?: string) {
    const text = body.trim()
    super(message ?? `unable to upgrade connection: ${text === '' ? `status ${status}` : text}`)
    this.name = 'UpgradeRefusedError'
    this.status = status
    this.body = body
  }
}

/** Limit of the text; the rest is dropped. */
const bodyBytesMax = 64 * 1024

/** Never rejects. */
export async function readRefusal({ status, body }: HttpClientResponse): Promise<UpgradeRefusedError> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of body) {
      pieces.push(piece)
      sizeBytes += piece.length
      if (sizeBytes >= bodyBytesMax) break
    }
  } catch {
    // Uses what was received before.
  }
  return new UpgradeRefusedError({
    status,
    body: Buffer.concat(pieces).subarray(0, bodyBytesMax).toString(),
  })
}
