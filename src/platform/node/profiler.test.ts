import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeProfiler } from './profiler.ts'

const profiler = nodeProfiler()
const { signal } = new AbortController()

test('profiles are in the formats of the developer tools', async () => {
  const cpu = JSON.parse(await profiler.cpuProfile({ durationMs: 20, signal })) as object
  assert.ok('nodes' in cpu && 'samples' in cpu && 'timeDeltas' in cpu)
  const heap = JSON.parse(await profiler.heapProfile({ durationMs: 20, signal })) as object
  assert.ok('head' in heap && 'samples' in heap)
  const [first] = await Array.fromAsync(profiler.heapSnapshot())
  assert.ok(Buffer.from(first!).toString().startsWith('{"snapshot":'))
})

test('an aborted profile ends early', async () => {
  const controller = new AbortController()
  const taken = profiler.cpuProfile({ durationMs: 3_600_000, signal: controller.signal })
  controller.abort()
  assert.ok('nodes' in (JSON.parse(await taken) as object))
})
