import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '../generated/core/v1.ts'
import { simulatedPodUsage, simulatedUsage, sumOfUsage } from './simulated-usage.ts'

function podOf(cpu?: string, memory?: string): Pod {
  const annotations = {
    ...(cpu !== undefined && { 'simulated.k8ts.io/cpu': cpu }),
    ...(memory !== undefined && { 'simulated.k8ts.io/memory': memory }),
  }
  const initContainers = [{ name: 'before' }, { name: 'beside', restartPolicy: 'Always' }]
  return { metadata: { annotations }, spec: { containers: [{ name: 'main' }], initContainers } }
}

test('simulated pod usage follows its annotations, split evenly over containers', () => {
  const check = (pod: Pod, nanoCores: number, memoryBytes: number): void => {
    const part = { nanoCores, memoryBytes }
    assert.deepEqual(Object.fromEntries(simulatedUsage(pod)), { main: part, beside: part })
  }
  check(podOf('300m', '1Gi'), 150_000_000, 2 ** 29)
  check(podOf('1'), 500_000_000, 0)
  check(podOf('much'), 0, 0)
})

test('the usage of simulated pods is summed up, to zero without pods', () => {
  const usages = [podOf('300m', '1Gi'), podOf('1')].map(simulatedPodUsage)
  assert.deepEqual(sumOfUsage(usages), { nanoCores: 1_300_000_000, memoryBytes: 2 ** 30 })
  assert.deepEqual(sumOfUsage([]), { nanoCores: 0, memoryBytes: 0 })
})
