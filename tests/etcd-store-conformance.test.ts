import { after, before, test } from 'node:test'
import { loadGrpc, nodePlatform } from '#/platform/node.ts'
import { EtcdStore } from '#/store/etcd.ts'
import { storeConformance } from '#/store/store.conformance.ts'
import { EtcdCluster, etcdMissing } from './etcd/cluster.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connectGrpc = await loadGrpc()

conform('etcd of one member', 1)
conform('etcd of three members', 3)

function conform(name: string, size: number): void {
  if (etcdMissing) {
    test(name, { skip: etcdMissing })
    return
  }
  let cluster: EtcdCluster | undefined
  let store: EtcdStore | undefined
  before(async () => {
    cluster = await EtcdCluster.start(size)
    const tls = cluster.certificates.client
    store = EtcdStore.open({ platform, connect: connectGrpc, endpoints: cluster.endpoints, tls })
  })
  after(async () => {
    await store?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
  })
  storeConformance(name, async () => store!, { ttlMs: 1_000, modelRuns: 5 })
}
