import { Writer } from '#/base/protobuf.ts'
import { depthMax as jsonDepthMax } from '../text/json.ts'

/**
 * Maximum nesting of messages. Sufficient for all valid JSON: the worst case is a nested JSON schema, in
 * which one level of JSON takes two levels of messages.
 */
export const depthMax = 2 * jsonDepthMax + 10

/** Returns the bytes that the function writes. */
export function encodeWith(write: (writer: Writer) => void): Uint8Array {
  // A nested call finds no spare writer and creates one.
  const writer = spare ?? new Writer({ depthMax })
  spare = undefined
  try {
    write(writer)
    return writer.finish()
  } finally {
    writer.reset()
    spare = writer
  }
}

let spare: Writer | undefined
