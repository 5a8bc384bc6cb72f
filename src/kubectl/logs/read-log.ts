import type { Factory } from '../factory.ts'
import type { LogSource } from './log-sources.ts'

/** Parameters of a request for a log, without the container. */
export type LogQuery = Readonly<Record<string, string | number | boolean | undefined>>

export interface ReadLogOptions extends LogSource {
  readonly query: LogQuery
  readonly signal?: AbortSignal
}

/** A server may send the response's head with the first line, which may take any time. */
const responseTimeoutMs = 2 ** 31 - 1

export async function readLog(
  factory: Factory,
  { pod: { metadata }, container, query, signal }: ReadLogOptions,
): Promise<AsyncIterable<Uint8Array>> {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries<LogQuery[string]>({ container, ...query })) {
    if (value !== undefined && value !== false) parameters.set(name, String(value))
  }
  parameters.sort()
  const client = await factory.client()
  const namespace = encodeURIComponent(metadata.namespace ?? '')
  const response = await client.raw({
    method: 'GET',
    path: `/api/v1/namespaces/${namespace}/pods/${encodeURIComponent(metadata.name ?? '')}/log`,
    query: parameters,
    headers: { accept: 'application/json, */*' },
    signal,
    timeoutMs: responseTimeoutMs,
  })
  return response.bytes()
}

/** A longer line is passed on in pieces. */
const lineBytesMax = 1024 * 1024

export interface LogLine {
  readonly bytes: Uint8Array
  /** False for the rest of a line that is too long. */
  readonly isStart: boolean
}

/** Lines with their ends, so that lines of several logs can be mixed. The last one may have no end. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<LogLine, void, undefined> {
  let unfinished: Uint8Array[] = []
  let sizeBytes = 0
  let isStart = true
  for await (const piece of pieces) {
    let at = 0
    for (;;) {
      const end = piece.indexOf(lineFeed, at)
      const part = piece.subarray(at, end === -1 ? undefined : end + 1)
      unfinished.push(part)
      sizeBytes += part.length
      if (end === -1 && sizeBytes < lineBytesMax) break
      if (sizeBytes > 0) yield { bytes: Buffer.concat(unfinished), isStart }
      unfinished = []
      sizeBytes = 0
      isStart = end !== -1
      if (end === -1) break
      at = end + 1
    }
  }
  if (sizeBytes > 0) yield { bytes: Buffer.concat(unfinished), isStart }
}

const lineFeed = 10
