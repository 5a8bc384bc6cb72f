import { Writer } from '#/base/protobuf.ts'
import { depthMax as jsonDepthMax } from '../json.ts'

/**
 * Levels of messages in each other. Whatever JSON holds can be written: the deepest is a schema in a schema
 * in a schema, where one level of JSON makes two of messages.
 */
export const depthMax = 2 * jsonDepthMax + 10

/** What a function writes, as bytes of its own. */
export function encodeWith(write: (writer: Writer) => void): Uint8Array {
  // Writing inside of writing finds no spare one and makes its own.
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
