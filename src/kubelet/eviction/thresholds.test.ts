import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evictionThresholds, thresholdAmount, type EvictionSettings } from './thresholds.ts'

const none: EvictionSettings = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
}

test('thresholds are read from the configuration', () => {
  const found = evictionThresholds({
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '0%', 'containerfs.available': '5%' },
    evictionSoft: { 'pid.available': '10%' },
    evictionSoftGracePeriod: { 'pid.available': '1m30s' },
    evictionMinimumReclaim: { 'pid.available': '500', 'memory.available': '1%' },
  })
  assert.deepEqual(found, [
    { signal: 'memory.available', value: '100Mi', graceMs: 0, minimumReclaim: '1%' },
    { signal: 'pid.available', value: '10%', graceMs: 90_000, minimumReclaim: '500' },
    { signal: 'allocatableMemory.available', value: '100Mi', graceMs: 0, minimumReclaim: '1%' },
  ])
})

test('settings that the kubelet does not accept are errors', () => {
  const cases: readonly (readonly [Partial<EvictionSettings>, RegExp])[] = [
    [{ evictionHard: { 'odd.signal': '1' } }, /^Error: unsupported eviction signal odd.signal$/],
    [{ evictionHard: { 'memory.available': 'much' } }, /must be positive: much$/],
    [{ evictionHard: { 'memory.available': '0' } }, /must be positive: 0$/],
    [{ evictionHard: { 'nodefs.available': '101%' } }, /must be positive: 101%$/],
    [{ evictionHard: { 'nodefs.available': '%' } }, /must be positive: %$/],
    [
      { evictionSoft: { 'memory.available': '1Gi' } },
      /grace period must be specified for the soft eviction threshold memory.available$/,
    ],
    [
      {
        evictionSoft: { 'memory.available': '1Gi' },
        evictionSoftGracePeriod: { 'memory.available': 'long' },
      },
      /invalid eviction grace period specified: long, must be a positive value$/,
    ],
    [
      { evictionHard: { 'pid.available': '1' }, evictionMinimumReclaim: { 'pid.available': 'x' } },
      /invalid eviction minimum reclaim for pid.available: x$/,
    ],
  ]
  for (const [given, expected] of cases)
    assert.throws(() => evictionThresholds({ ...none, ...given }), expected)
})

test('a percentage refers to the capacity', () => {
  assert.equal(thresholdAmount('1k', 5), 1_000)
  assert.equal(thresholdAmount('12.5%', 81), 10)
})
