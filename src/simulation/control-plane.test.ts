import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllersOf } from '#/controllers/controllers.ts'
import { simulateControlPlane } from './control-plane.ts'

const controllers = controllersOf()

/** `npm run simulate` runs any number of seeds. */
const seedsOfEach = 8

for (const from of [0, 1_000, 2_000]) {
  test(`${seedsOfEach} seeds from ${from} without violations`, async () => {
    const hashes = new Set<string>()
    for (let seed = from; seed < from + seedsOfEach; seed++) {
      const { violations, traceHash } = await simulateControlPlane(seed, { controllers })
      assert.deepEqual(violations, [], `npm run simulate -- --seed ${seed}`)
      hashes.add(traceHash)
    }
    assert.equal(hashes.size, seedsOfEach)
  })
}

test('a seed gives the same trace twice', async () => {
  for (const seed of [7, 9]) {
    const once = await simulateControlPlane(seed, { controllers })
    const again = await simulateControlPlane(seed, { controllers })
    assert.deepEqual([again.traceHash, again.revisions], [once.traceHash, once.revisions])
    const [, pod = ''] = /put \/registry\/(pods\/\S+)/.exec(once.trace.join('\n')) ?? []
    const text = once.traceOf(pod)
    assert.match(
      text ?? '',
      /^Pod (?:default|other)\/.*\nbegan with admin .*\n[^]*(?:kubelet on node-\d|-controller): /,
    )
    assert.equal(again.traceOf(pod), text)
    assert.equal(once.traceOf('pod/default/never'), undefined)
  }
})
