import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { deflatePart, gzipParts } from './gzip.ts'
import { batchOf } from './piece-batch.ts'

const sizes = [0, 1, 7, 1_000, 131_072, 300_001]
const contents = sizes.map(size =>
  Buffer.from(Array.from({ length: size }, (_, index) => (index * index) % 251)),
)

test('separately deflated parts are one gzip member with the checksum of the whole', async () => {
  const parts = await Promise.all(contents.map(bytes => deflatePart([batchOf(bytes)])))
  for (const [first, one] of parts.entries()) {
    for (const [second, other] of parts.entries()) {
      for (const indexes of [[first], [first, second], [second, first, second]]) {
        const gzip = Buffer.concat(gzipParts(indexes.map(index => (index === first ? one : other))))
        const whole = Buffer.concat(indexes.map(index => contents[index]!))
        // It verifies checksum and size.
        assert.ok(
          gunzipSync(gzip).equals(whole),
          `parts of ${indexes.map(index => sizes[index]).join(', ')} bytes`,
        )
      }
    }
  }
})

test('parts of many pieces are compressed in order', async () => {
  const pieces = Array.from({ length: 5_000 }, (_, index) =>
    index % 2 === 0 ? `${index};` : Buffer.from(`${index},`),
  )
  const sizeBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const part = await deflatePart([{ pieces, sizeBytes }])
  assert.equal(part.sizeBytes, sizeBytes)
  assert.equal(gunzipSync(Buffer.concat(gzipParts([part]))).toString(), pieces.join(''))
})
