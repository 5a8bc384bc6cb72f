import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateScheduling } from './scheduling.ts'

const seeds = Array.from({ length: 100 }, (_, seed) => seed)

test('a hundred seeds: no node is overcommitted, and no pod is pending that fits', async () => {
  const hashes = new Set<string>()
  let [bound, waiting] = [0, 0]
  for (const seed of seeds) {
    const verdict = await simulateScheduling(seed)
    assert.deepEqual(verdict.violations, [], `seed ${seed}`)
    hashes.add(verdict.traceHash)
    bound += verdict.bound
    waiting += verdict.waiting
  }
  assert.equal(hashes.size, seeds.length)
  // Checks that the simulation is meaningful: some pods are bound and some are not.
  assert.ok(bound > seeds.length && waiting > seeds.length, `${bound} bound, ${waiting} waiting`)
})

test('a seed gives the same trace twice', async () => {
  const [once, again] = [await simulateScheduling(7), await simulateScheduling(7)]
  assert.equal(once.traceHash, again.traceHash)
})
