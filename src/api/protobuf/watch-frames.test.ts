import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecodeError } from '../decoding/decode-error.ts'
import { frameBytesMax, WatchFrames } from './watch-frames.ts'

test('watch frames are reassembled from arbitrary chunks', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 })
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 0, max: 30 })), (messages, cuts) => {
      const stream = Buffer.concat(messages.flatMap(message => [length(message.length), message]))
      const frames = new WatchFrames()
      const found: Uint8Array[] = []
      let position = 0
      for (const cut of cuts) {
        found.push(...frames.push(stream.subarray(position, position + cut)))
        position += cut
      }
      found.push(...frames.push(stream.subarray(position)))
      assert.deepEqual(
        found.map(each => [...each]),
        messages.map(each => [...each]),
      )
    }),
    { numRuns: 200 },
  )
})

test('an oversized watch frame is rejected before it is buffered', () => {
  const frames = new WatchFrames()
  assert.deepEqual(frames.push(length(frameBytesMax)), [])
  const refused = (error: unknown) => error instanceof DecodeError && error.reason === 'too-large'
  assert.throws(() => new WatchFrames().push(length(frameBytesMax + 1)), refused)
  assert.throws(() => new WatchFrames().push(Buffer.alloc(4, 0xff)), refused)
})

function length(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(sizeBytes)
  return bytes
}
