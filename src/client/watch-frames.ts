/** Decodes the body of a watch response: one JSON value per line. */
import { parseEncodedObject } from '#/api/encoded-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { TransportError } from './transport.ts'

/** Maximum size of a watch event. Objects are below two megabytes in any encoding. */
const frameBytesMax = 32 * 1_048_576

const newline = 0x0a

/**
 * Yields the values of a stream of JSON lines, as many at a time as have arrived. Invalid JSON, and an end of
 * the stream within a line, throw TransportError `invalid-response` after all valid values have been yielded.
 */
export async function* readWatchFrames(
  source: AsyncIterable<Uint8Array>,
  bytesMax = frameBytesMax,
): AsyncGenerator<readonly JsonValue[], void, undefined> {
  /** An incomplete line, in pieces: concatenating them on each read would take quadratic time. */
  let begun: Uint8Array[] = []
  let begunBytes = 0
  for await (const piece of source) {
    const end = piece.lastIndexOf(newline)
    if (end !== -1) {
      const lines = Buffer.concat([...begun, piece.subarray(0, end)])
      begun = []
      begunBytes = 0
      yield* readLines(lines)
    }
    const rest = piece.subarray(end + 1)
    if (rest.length === 0) continue
    begun.push(rest)
    begunBytes += rest.length
    if (begunBytes > bytesMax) {
      throw new TransportError('too-large', `watch event exceeds ${bytesMax} bytes`)
    }
  }
  if (begunBytes > 0) throw new TransportError('invalid-response', 'stream ended within a watch event')
}

function* readLines(lines: Buffer): Generator<readonly JsonValue[], void, undefined> {
  const values: JsonValue[] = []
  let failure: unknown
  for (let start = 0; start <= lines.length && failure === undefined;) {
    const newlineAt = lines.indexOf(newline, start)
    const end = newlineAt === -1 ? lines.length : newlineAt
    try {
      // Empty lines are keep-alives.
      if (end > start) values.push(parseEncodedObject(lines.subarray(start, end)))
    } catch (error) {
      failure = error
    }
    start = end + 1
  }
  if (values.length > 0) yield values
  if (failure !== undefined)
    throw new TransportError('invalid-response', 'watch event is not valid JSON', { cause: failure })
}
