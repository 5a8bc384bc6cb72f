/**
 * Fifty concurrent creations against a quota of ten: exactly ten succeed. For each of a thousand seeds, the
 * latency of the store, the timing and server of each request, and concurrent quota updates are random.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inWorker } from './in-worker.ts'

const race = new URL('quota-race.ts', import.meta.url)

test('of fifty concurrent creations a quota of ten admits ten, in a thousand seeds', async () => {
  const seeds = Array.from({ length: 1_000 }, (_, index) => index)
  const halves = [seeds.slice(0, 500), seeds.slice(500)]
  const played = await Promise.all(halves.map(half => inWorker<number>(race, { seeds: half })))
  assert.deepEqual(played, [500, 500])
})
