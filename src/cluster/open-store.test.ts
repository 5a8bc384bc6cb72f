import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultQuotaBytes } from './open-store.ts'

test('the default quota of a store is that of etcd, on small machines a quarter of the memory', () => {
  const gibibyte = 1024 ** 3
  const cases: readonly (readonly [memory: number | undefined, quota: number])[] = [
    [undefined, 2 * gibibyte],
    [64 * gibibyte, 2 * gibibyte],
    [8 * gibibyte, 2 * gibibyte],
    [2 * gibibyte, gibibyte / 2],
    [1_000_000_001, 250_000_000],
  ]
  for (const [memory, quota] of cases) assert.equal(defaultQuotaBytes(memory), quota, String(memory))
})
