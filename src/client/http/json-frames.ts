import { parseJson } from '#/api/json.ts'
import type { JsonValue } from '#/api/json-value.ts'
import { TransportError } from '../transport.ts'

/** The largest event a server may send. Objects are smaller than two megabytes, whatever their form. */
const frameBytesMax = 32 * 1_048_576

const newline = 0x0a

/**
 * The values of a stream in which each has a line, as many at a time as have come. Bytes that are no JSON,
 * and an end in the middle of a line, are thrown as TransportError `garbage`, after what came before.
 */
export async function* readJsonFrames(
  source: AsyncIterable<Uint8Array>,
  bytesMax = frameBytesMax,
): AsyncGenerator<readonly JsonValue[], void, undefined> {
  /** The beginning of a line, in pieces: joining them each time would cost the square of their number. */
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
      throw new TransportError('too-large', `an event has more than ${bytesMax} bytes`)
    }
  }
  if (begunBytes > 0) throw new TransportError('garbage', 'the stream ended in the middle of an event')
}

function* readLines(lines: Buffer): Generator<readonly JsonValue[], void, undefined> {
  const values: JsonValue[] = []
  let failure: unknown
  for (let start = 0; start <= lines.length && failure === undefined;) {
    const newlineAt = lines.indexOf(newline, start)
    const end = newlineAt === -1 ? lines.length : newlineAt
    try {
      // Empty lines keep a connection alive.
      if (end > start) values.push(parseJson(lines.subarray(start, end)))
    } catch (error) {
      failure = error
    }
    start = end + 1
  }
  if (values.length > 0) yield values
  if (failure !== undefined) throw new TransportError('garbage', 'an event is no JSON', { cause: failure })
}
