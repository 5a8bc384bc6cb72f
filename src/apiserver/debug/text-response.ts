import type { ApiResponse } from '../request.ts'

export function textResponse(text: string, status = 200): ApiResponse {
  const bytes = (): Uint8Array[] => [Buffer.from(text)]
  return { status, body: { type: 'value', mediaType: 'text/plain; charset=utf-8', value: text, bytes } }
}
