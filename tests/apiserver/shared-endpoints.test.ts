/**
 * API servers that share an etcd, as real processes: each is in the endpoints of the `kubernetes` Service while it
 * runs.
 */
import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { EtcdCluster, etcdMissing } from '../etcd/cluster.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { stop, up, type AdminClient } from '../up/process.ts'
import { waitUntil } from '../wait-until.ts'

test(
  'a server that stops removes its endpoint, and that of a killed one expires',
  { skip: etcdMissing },
  async t => {
    await using etcd = await EtcdCluster.startPlain(1)
    const store = `--store etcd://${etcd.endpoints.join(',')}`
    const folder = await temporaryFolder(t)
    const first = await up(t, join(folder, '1'), store, '--advertise-address 192.0.2.1')
    const startSecond = async (): ReturnType<typeof up> => {
      await cp(join(folder, '1', 'pki'), join(folder, '2', 'pki'), { recursive: true, force: true })
      return up(t, join(folder, '2'), store, '--advertise-address 192.0.2.2')
    }
    const [both, alone] = ['192.0.2.1,192.0.2.2', '192.0.2.1']
    const second = await startSecond()
    assert.equal(await addressesOf(first), both)
    assert.match(await identitiesOf(first), /^apiserver-[a-z2-7]{26},apiserver-[a-z2-7]{26}$/)
    await stop(second, 'SIGTERM')
    assert.equal(await addressesOf(first), alone)
    const again = await startSecond()
    assert.equal(await addressesOf(first), both)
    await stop(again, 'SIGKILL')
    await waitUntil(async () => (await addressesOf(first)) === alone)
    await stop(first, 'SIGTERM')
  },
)

interface Slice {
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[]
}

/** Of the EndpointSlice, from a server that has seen the last write of the others. */
async function addressesOf({ ask }: AdminClient): Promise<string> {
  const { text } = await ask('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes')
  const { endpoints = [] } = JSON.parse(text) as Slice
  return endpoints
    .flatMap(({ addresses }) => addresses)
    .toSorted()
    .join()
}

interface Leases {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

async function identitiesOf({ ask }: AdminClient): Promise<string> {
  const selector = encodeURIComponent('apiserver.kubernetes.io/identity=kube-apiserver')
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=${selector}`
  const { items } = JSON.parse((await ask(path)).text) as Leases
  return items.map(({ metadata }) => metadata.name).join()
}
