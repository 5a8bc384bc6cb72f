/**
 * API servers that are killed under load, as real processes: all clients end with the stored state, and no
 * acknowledged write is lost.
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ChildCluster } from '../clients/cluster.ts'
import { EtcdCluster, etcdMissing } from '../etcd/cluster.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { Balancer } from './balancer.ts'
import { Load } from './load.ts'

/** Number of writes between two failures. */
const between = 150

test('no acknowledged write is lost and 50 informers are consistent when the server is killed repeatedly', async t => {
  const folder = await temporaryFolder(t)
  let cluster = await ChildCluster.start({ folder })
  const { port, kubeconfig } = cluster
  const load = await Load.start(t, { kubeconfig })
  for (let round = 0; round < 3; round++) {
    await load.advance(between)
    await cluster.kill()
    cluster = await ChildCluster.start({ folder, port })
  }
  await load.advance(between)
  await load.settle(t)
  await cluster[Symbol.asyncDispose]()
})

test(
  'no acknowledged write is lost when the server and members of its etcd are killed',
  { skip: etcdMissing },
  async t => {
    await using etcd = await EtcdCluster.startPlain(3)
    const store = `etcd://${etcd.endpoints.join(',')}`
    const folder = await temporaryFolder(t)
    let cluster = await ChildCluster.start({ folder, store })
    const { port, kubeconfig } = cluster
    const load = await Load.start(t, { kubeconfig })
    await load.advance(between)
    await cluster.kill()
    await etcd.members[0]!.kill()
    cluster = await ChildCluster.start({ folder, port, store })
    await load.advance(between)
    etcd.members[0]!.start()
    await load.advance(between)
    // The server keeps running while etcd members are killed one after the other.
    for (const member of etcd.members.slice(1)) {
      await member.kill()
      await load.advance(between)
      member.start()
      await waitUntil(() => hasCaughtUp(member.endpoint))
    }
    await load.settle(t)
    await cluster[Symbol.asyncDispose]()
  },
)

/** A member is healthy when it can serve a linearizable read. */
async function hasCaughtUp(endpoint: string): Promise<boolean> {
  const response = await fetch(`http://${endpoint}/health`).catch(() => undefined)
  return response?.ok ?? false
}

test('clients of one of two servers on one etcd continue with the other', { skip: etcdMissing }, async t => {
  await using etcd = await EtcdCluster.startPlain(1)
  const store = `etcd://${etcd.endpoints.join(',')}`
  const [folder, other] = [await temporaryFolder(t), await temporaryFolder(t)]
  const first = await ChildCluster.start({ folder, store })
  // Both clusters share the certificate authority, so that clients of one can use the other.
  await cp(join(folder, 'pki'), join(other, 'pki'), { recursive: true })
  const second = await ChildCluster.start({ folder: other, store })
  const { port, kubeconfig } = first
  await using balancer = await Balancer.start([port, second.port])
  const load = await Load.start(t, { kubeconfig, port: balancer.port })
  await load.advance(between)
  await first.kill()
  await load.advance(between)
  const again = await ChildCluster.start({ folder, port, store })
  await load.advance(between)
  await second.kill()
  await load.advance(between)
  await load.settle(t)
  await again[Symbol.asyncDispose]()
})
