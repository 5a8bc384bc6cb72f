import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { EtcdStore } from '#/store/etcd.ts'
import { StoreError } from '#/store/store.ts'
import { simulateEtcdStore } from './etcd-store.ts'
import { SimulatedEtcd } from './etcd/simulated-etcd.ts'

/** `npm run simulate -- --simulation etcd-store` runs any number of seeds. */
const seeds = 40

test('forty seeds without violations', async () => {
  let acknowledgedCount = 0
  for (let seed = 0; seed < seeds; seed++) {
    const { violations, acknowledged } = await simulateEtcdStore(seed)
    assert.deepEqual(violations, [], `npm run simulate -- --simulation etcd-store --seed ${seed}`)
    acknowledgedCount += acknowledged
  }
  assert.ok(acknowledgedCount > seeds * 50)
})

test('a seed gives the same trace twice', async () => {
  const [once, again] = [await simulateEtcdStore(7), await simulateEtcdStore(7)]
  assert.equal(once.traceHash, again.traceHash)
})

test('a watch learns that the newest revision, a deletion, has been compacted', async () => {
  const simulation = new Simulation({ seed: 1 })
  const etcd = new SimulatedEtcd({ simulation })
  const platform = simulation.host('api')
  const store = EtcdStore.open({ platform, connect: etcd.connect(platform), endpoints: etcd.endpoints })
  const key = '/registry/a'
  const watch = async (): Promise<void> => {
    await store.create(key, Buffer.from('x'))
    await store.delete(key, { expectedRevision: 2 })
    await store.compact(3)
    const other = EtcdStore.open({ platform, connect: etcd.connect(platform), endpoints: etcd.endpoints })
    for await (const batch of other.watch({ prefix: '/registry/', afterRevision: 2 }))
      assert.fail(JSON.stringify(batch))
  }
  await assert.rejects(
    simulation.run(watch()),
    error => error instanceof StoreError && error.reason === 'compacted',
  )
})
