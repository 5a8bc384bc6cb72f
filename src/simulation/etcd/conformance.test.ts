import { Simulation } from '#/platform/simulated.ts'
import { EtcdStore } from '#/store/etcd.ts'
import { storeConformance } from '#/store/store.conformance.ts'
import { SimulatedEtcd } from './simulated-etcd.ts'

for (const members of [1, 3]) {
  const simulation = new Simulation({ seed: members })
  const etcd = new SimulatedEtcd({ simulation, members, fragmentBytes: 1_000 })
  const platform = simulation.host('api')
  const store = EtcdStore.open({ platform, connect: etcd.connect(platform), endpoints: etcd.endpoints })
  storeConformance(`simulated etcd with ${members} members`, async () => store, {
    ttlMs: 1_000,
    modelRuns: 5,
    run: test => simulation.run(test),
  })
}
