import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '../../../tests/wait-until.ts'
import { trimAllocator } from './allocator.ts'
import { collectGarbage } from './garbage-collection.ts'

test('memory of freed buffers is returned, although a buffer that was allocated after them is in use', async () => {
  trimAllocator()
  const beforeBytes = process.memoryUsage.rss()
  let buffers: (Uint8Array | undefined)[] = Array.from({ length: 200_000 }, () =>
    new Uint8Array(1_000).fill(1),
  )
  const last = new Uint8Array(1_000).fill(1)
  buffers = []
  collectGarbage()
  // V8 frees the buffers in the background.
  await waitUntil(() => {
    trimAllocator()
    return process.memoryUsage.rss() - beforeBytes < 100_000_000
  })
  assert.deepEqual([buffers.length, last.length], [0, 1_000])
})
