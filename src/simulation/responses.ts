/** Synthetic API server responses for fault injection. */
import type { ApiResponse, StreamChunk } from '#/api/transport.ts'

export function valueResponse(value: object, status: number): ApiResponse {
  const bytes = (): readonly Uint8Array[] => [Buffer.from(JSON.stringify(value))]
  return { status, body: { type: 'value', mediaType: 'application/json', value, bytes } }
}

export function chunkOf(type: string, object: object): StreamChunk {
  const value = { type, object }
  return { value, bytes: () => Buffer.from(`${JSON.stringify(value)}\n`) }
}
