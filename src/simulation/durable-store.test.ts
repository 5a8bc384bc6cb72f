import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultKinds, simulateDurableStore } from './durable-store.ts'

const seedCount = 60

for (const [faults, { mayRefuse, ...options }] of Object.entries(faultKinds)) {
  const refuses = mayRefuse ? 'refuses to open or ' : ''
  test(`with ${faults}, a store ${refuses}serves every acknowledged write`, async t => {
    const totals = { acknowledged: 0, refused: 0, damagedReads: 0 }
    for (let seed = 0; seed < seedCount; seed++) {
      const { violations, acknowledged, isRefused, damagedReads } = await simulateDurableStore(seed, options)
      assert.deepEqual(violations, [], `seed ${seed}`)
      totals.acknowledged += acknowledged
      if (isRefused) totals.refused++
      totals.damagedReads += damagedReads
    }
    t.diagnostic(JSON.stringify(totals))
    const { acknowledged, refused, damagedReads } = totals
    assert.ok(acknowledged > 50 * seedCount, `${acknowledged} acknowledged writes`)
    assert.equal(refused + damagedReads > 0, mayRefuse, 'the faults have an effect if the files can be wrong')
  })
}
