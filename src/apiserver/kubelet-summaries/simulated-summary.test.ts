import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { stored } from '../test-stored.ts'
import { simulatedSummary } from './simulated-summary.ts'

function podOf(uid: string, cpu?: string, memory?: string): Stored<Pod> {
  const annotations = {
    ...(cpu !== undefined && { 'simulated.k8ts.io/cpu': cpu }),
    ...(memory !== undefined && { 'simulated.k8ts.io/memory': memory }),
  }
  const initContainers = [{ name: 'before' }, { name: 'beside', restartPolicy: 'Always' }]
  return stored({ metadata: { uid, annotations }, spec: { containers: [{ name: 'main' }], initContainers } })
}

test('simulated pod usage follows its annotations, split evenly over containers', () => {
  const { node, pods } = simulatedSummary([podOf('a', '300m', '1Gi'), podOf('b', '1'), podOf('c', 'much')])
  const seen = Array.from(pods, ([uid, uses]) => [uid, Object.fromEntries(uses)])
  const part = (nanoCores: number, memoryBytes: number): object => {
    return { main: { nanoCores, memoryBytes }, beside: { nanoCores, memoryBytes } }
  }
  assert.deepEqual(Object.fromEntries(seen), {
    a: part(150_000_000, 2 ** 29),
    b: part(500_000_000, 0),
    c: part(0, 0),
  })
  assert.deepEqual(node, { nanoCores: 1_300_000_000, memoryBytes: 2 ** 30 })
})

test('a simulated node without pods has no usage', () => {
  assert.deepEqual(simulatedSummary([]), { node: { nanoCores: 0, memoryBytes: 0 }, pods: new Map() })
})
