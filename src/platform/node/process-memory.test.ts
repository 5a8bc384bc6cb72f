import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCompactionWorthwhile } from './garbage-collection.ts'
import { processMemory } from './process-memory.ts'

const gibibyte = 1024 ** 3
const mebibyte = 1024 ** 2

/** A process whose figures the test sets. */
function start() {
  const state = { nowMs: 0, heapBytes: 0, residentBytes: 0, garbageBytes: 0, releases: 0 }
  const memory = processMemory({
    nowMs: () => state.nowMs,
    heapBytes: () => state.heapBytes,
    residentBytes: () => state.residentBytes,
    release: () => {
      state.releases++
      state.heapBytes -= state.garbageBytes
      state.residentBytes -= state.garbageBytes
      state.garbageBytes = 0
    },
    heapBytesMax: gibibyte,
    residentBytesMax: 4 * gibibyte,
  })
  const isExhaustedAfter = (seconds: number): boolean => {
    state.nowMs += seconds * 1_000
    return memory.isNearlyExhausted()
  }
  return { state, memory, isExhaustedAfter }
}

test('memory is nearly exhausted when heap or resident memory are, and garbage does not count', () => {
  const { state, isExhaustedAfter } = start()
  assert.equal(isExhaustedAfter(1), false)
  state.heapBytes = 0.9 * gibibyte
  state.garbageBytes = 0.5 * gibibyte
  assert.equal(isExhaustedAfter(1), false)
  assert.equal(state.releases, 1)
  state.residentBytes = 3.9 * gibibyte
  assert.equal(isExhaustedAfter(11), true)
  state.residentBytes = 3 * gibibyte
  assert.equal(isExhaustedAfter(1), false)
})

test('a collection that does not help is repeated with growing pauses', () => {
  const { state, isExhaustedAfter } = start()
  state.residentBytes = 3.9 * gibibyte
  for (let second = 0; second < 600; second++) assert.equal(isExhaustedAfter(1), true)
  // After 1, 22, 63, 144, 305 and 466 seconds.
  assert.equal(state.releases, 6)
  state.garbageBytes = 3 * gibibyte
  assert.equal(isExhaustedAfter(160), false)
  state.residentBytes = 3.9 * gibibyte
  assert.equal(isExhaustedAfter(9), true)
  assert.equal(state.releases, 7)
  state.garbageBytes = 3 * gibibyte
  assert.equal(isExhaustedAfter(2), false)
})

test('caches are asked to release memory when a load has ended', () => {
  const { memory } = start()
  const released: string[] = []
  memory.onIdle(() => released.push('a'))
  memory.onIdle(() => released.push('b'))
  assert.deepEqual(released, [])
  memory.idle()
  assert.deepEqual(released, ['a', 'b'])
})

test('compaction of the heap is worthwhile when a large part of its pages is free', () => {
  const check = (usedMebibytes: number, totalMebibytes: number, expected: boolean): void => {
    const heap = { used_heap_size: usedMebibytes * mebibyte, total_heap_size: totalMebibytes * mebibyte }
    assert.equal(isCompactionWorthwhile(heap), expected)
  }
  check(50, 120, true)
  check(100, 260, true)
  check(100, 140, false)
  check(10, 22, false)
  check(2_000, 4_000, false)
})
