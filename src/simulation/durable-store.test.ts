import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateDurableStore, type DurableStoreOptions } from './durable-store.ts'

const seedCount = 60

interface Totals {
  readonly acknowledged: number
  readonly refused: number
  readonly damagedReads: number
}

async function check(options: DurableStoreOptions): Promise<Totals> {
  const totals = { acknowledged: 0, refused: 0, damagedReads: 0 }
  for (let seed = 0; seed < seedCount; seed++) {
    const { violations, acknowledged, isRefused, damagedReads } = await simulateDurableStore(seed, options)
    assert.deepEqual(violations, [], `seed ${seed}`)
    totals.acknowledged += acknowledged
    if (isRefused) totals.refused++
    totals.damagedReads += damagedReads
  }
  return totals
}

test('a store whose power fails keeps every acknowledged write, and always opens', async () => {
  const { acknowledged, refused, damagedReads } = await check({})
  assert.ok(acknowledged > 50 * seedCount, `${acknowledged} acknowledged writes`)
  assert.deepEqual({ refused, damagedReads }, { refused: 0, damagedReads: 0 })
})

test('a store whose disk fails now and then keeps every acknowledged write, and always opens', async () => {
  const { refused } = await check({ disk: { errorRate: 0.002, stallRate: 0.01 } })
  assert.equal(refused, 0)
})

test('a store whose files are damaged at rest is refused, or serves what was acknowledged', async () => {
  const { refused } = await check({ damages: true })
  assert.ok(refused > seedCount / 3, `${refused} of ${seedCount} were refused`)
})

test('a store on a disk that lies is refused, or serves what was acknowledged', async () => {
  for (const [fault, rate] of Object.entries({
    writeFlipRate: 0.005,
    lostWriteRate: 0.005,
    misdirectedWriteRate: 0.005,
    readFlipRate: 0.01,
    readRotRate: 0.01,
  })) {
    const { refused, damagedReads } = await check({ losesPower: false, disk: { [fault]: rate } })
    assert.ok(refused + damagedReads > 0, `${fault} had an effect`)
  }
})
