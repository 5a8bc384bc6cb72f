import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kubeletConfiguration, type KubeletConfigurationInput } from '../kubelet-configuration.ts'
import { noPressure, planPressure, type SignalObservations } from './plan-pressure.ts'
import { evictionThresholds, type EvictionSignal, type Threshold } from './thresholds.ts'

const mebi = 1024 ** 2

function thresholdsOf(given: Partial<KubeletConfigurationInput> = {}): readonly Threshold[] {
  const required = { name: 'n', addresses: [], rootDirectory: '/', cgroupRoot: '/' }
  return evictionThresholds(kubeletConfiguration({ ...required, ...given }))
}

const transitionMs = 300_000

test('a node is under pressure below its eviction threshold', () => {
  const cases: readonly (readonly [EvictionSignal, number, number, string])[] = [
    ['memory.available', 100 * mebi, 8192 * mebi, ''],
    ['memory.available', 100 * mebi - 1, 8192 * mebi, 'MemoryPressure'],
    ['allocatableMemory.available', 100 * mebi - 1, 8192 * mebi, 'MemoryPressure'],
    ['nodefs.available', 10, 100, ''],
    ['nodefs.available', 9, 100, 'DiskPressure'],
    ['nodefs.inodesFree', 5, 100, ''],
    ['nodefs.inodesFree', 4, 100, 'DiskPressure'],
    ['imagefs.available', 15, 100, ''],
    ['imagefs.available', 14, 100, 'DiskPressure'],
    ['imagefs.inodesFree', 4, 100, 'DiskPressure'],
    // A filesystem without inode counts.
    ['nodefs.inodesFree', 0, 0, ''],
    // No threshold by default.
    ['pid.available', 0, 100, ''],
  ]
  for (const [signal, available, capacity, expected] of cases) {
    const observations = { [signal]: { available, capacity } }
    const thresholds = thresholdsOf()
    const { lastPressureMs } = planPressure(noPressure, { thresholds, observations, transitionMs, nowMs: 0 })
    assert.equal([...lastPressureMs.keys()].join(), expected, `${signal} ${available} of ${capacity}`)
  }
  const unread = { thresholds: thresholdsOf(), observations: {}, transitionMs, nowMs: 0 }
  assert.deepEqual(
    planPressure(noPressure, unread),
    noPressure,
    'a signal that cannot be read is no pressure',
  )
})

/** Available memory and disk of 1000 bytes each, and what follows from them: `conditions / starved signals`. */
type Round = readonly [seconds: number, memory: number, disk: number, expected: string]

function checkRounds(thresholds: readonly Threshold[], rounds: readonly Round[]): void {
  let state = noPressure
  for (const [seconds, memory, disk, expected] of rounds) {
    const observations: SignalObservations = {
      'memory.available': { available: memory, capacity: 1_000 },
      'nodefs.available': { available: disk, capacity: 1_000 },
    }
    state = planPressure(state, { thresholds, observations, transitionMs, nowMs: seconds * 1_000 })
    const starved = state.starved.map(({ signal, graceMs }) => (graceMs > 0 ? `soft ${signal}` : signal))
    assert.equal(
      `${[...state.lastPressureMs.keys()].join(' ')} / ${starved.join(' ')}`.trim(),
      expected,
      `after ${seconds} s`,
    )
  }
}

test('a hard threshold requires eviction at once, memory first; its condition lasts for the transition period', () => {
  const thresholds = thresholdsOf({ evictionHard: { 'nodefs.available': '100', 'memory.available': '100' } })
  checkRounds(thresholds, [
    [0, 500, 500, '/'],
    [10, 500, 99, 'DiskPressure / nodefs.available'],
    [20, 99, 99, 'DiskPressure MemoryPressure / memory.available nodefs.available'],
    [30, 500, 500, 'DiskPressure MemoryPressure /'],
    [319, 99, 500, 'DiskPressure MemoryPressure / memory.available'],
    [320, 500, 500, 'MemoryPressure /'],
    [619, 500, 500, '/'],
  ])
})

test('a soft threshold requires eviction when it is met for its whole grace period', () => {
  const thresholds = thresholdsOf({
    evictionHard: { 'memory.available': '10%' },
    evictionSoft: { 'memory.available': '30%' },
    evictionSoftGracePeriod: { 'memory.available': '1m' },
  })
  checkRounds(thresholds, [
    [0, 299, 500, 'MemoryPressure /'],
    [50, 299, 500, 'MemoryPressure /'],
    [55, 300, 500, 'MemoryPressure /'],
    [60, 299, 500, 'MemoryPressure /'],
    [119, 299, 500, 'MemoryPressure /'],
    [120, 299, 500, 'MemoryPressure / soft memory.available'],
    [130, 99, 500, 'MemoryPressure / memory.available soft memory.available'],
  ])
})

test('eviction continues until the minimum reclaim is available', () => {
  const thresholds = thresholdsOf({
    evictionHard: { 'nodefs.available': '100' },
    evictionMinimumReclaim: { 'nodefs.available': '20%' },
  })
  checkRounds(thresholds, [
    [0, 500, 299, '/'],
    [10, 500, 99, 'DiskPressure / nodefs.available'],
    [20, 500, 299, 'DiskPressure / nodefs.available'],
    [30, 500, 300, 'DiskPressure /'],
    [40, 500, 299, 'DiskPressure /'],
  ])
})
