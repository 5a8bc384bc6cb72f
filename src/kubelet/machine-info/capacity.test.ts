import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kubeletConfiguration } from '../kubelet-configuration.ts'
import { planAllocatable, planCapacity } from './capacity.ts'

const gibi = 1024 ** 3
const settings = kubeletConfiguration({ name: 'n', addresses: [], rootDirectory: '/', cgroupRoot: '/' })

test("capacity is reported in Kubernetes' quantities", () => {
  const hugePages = [
    { sizeBytes: 2 * 1024 ** 2, count: 4, resource: 'hugepages-2Mi' },
    { sizeBytes: gibi, count: 0, resource: 'hugepages-1Gi' },
  ]
  const amounts = {
    processors: 2,
    memoryBytes: 8_040_856 * 1024,
    storageBytes: 100 * gibi,
    podsMax: 110,
    hugePages,
  }
  assert.deepEqual(planCapacity(amounts), {
    'cpu': '2',
    'ephemeral-storage': '100Gi',
    'hugepages-2Mi': '8Mi',
    'hugepages-1Gi': '0',
    'memory': '8040856Ki',
    'pods': '110',
  })
})

test('allocatable excludes reservations, eviction thresholds and huge pages', () => {
  const capacity = { 'cpu': '4', 'memory': '8Gi', 'ephemeral-storage': '100Gi', 'pods': '110' }
  const usual = { 'cpu': '4', 'memory': '8092Mi', 'ephemeral-storage': '90Gi', 'pods': '110' }
  assert.deepEqual(planAllocatable(capacity, settings), usual)
  const reserved = { 'cpu': '500m', 'memory': '1Gi', 'ephemeral-storage': '10Gi' }
  assert.deepEqual(planAllocatable(capacity, { ...settings, systemReserved: reserved }), {
    ...usual,
    'cpu': '3500m',
    'memory': '7068Mi',
    'ephemeral-storage': '80Gi',
  })
  assert.deepEqual(planAllocatable({ ...capacity, 'hugepages-2Mi': '1Gi' }, settings), {
    ...usual,
    'memory': '7068Mi',
    'hugepages-2Mi': '1Gi',
  })
  assert.equal(planAllocatable(capacity, { ...settings, systemReserved: { memory: '9Gi' } })['memory'], '0')
  assert.deepEqual(planAllocatable(capacity, { systemReserved: {}, evictionHard: {} }), capacity)
  assert.equal(
    planAllocatable(capacity, { systemReserved: {}, evictionHard: { 'nodefs.available': 'x%' } })[
      'ephemeral-storage'
    ],
    '100Gi',
  )
})
