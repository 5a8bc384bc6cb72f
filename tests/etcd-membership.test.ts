/** Control plane hosts join and leave the etcd of a cluster, with real members and kubeadm's certificates. */
import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { loadGrpc, nodePlatform } from '#/platform/node.ts'
import { EtcdStore } from '#/store/etcd.ts'
import type { Store } from '#/store/store.ts'
import { etcdMissing } from './etcd/cluster.ts'
import { StackedHost } from './etcd/stacked-host.ts'
import { temporaryFolder } from './temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connect = await loadGrpc()
const options = { skip: etcdMissing, timeout: 110_000 }

test('an etcd grows to three members, loses one for a while, and shrinks again', options, async t => {
  const hosts = await makeHosts(t, 3)
  const [first, second, third] = hosts
  assert.ok(first && second && third)
  await first.start()
  await first.wait()
  await using members = first.members()
  const operation = first.operation(members)
  const store = openStore(t, hosts)
  await write(store, 'one')

  // The host stops between the two steps, and repeats them.
  const { id } = await second.add(operation)
  assert.equal((await second.add(operation)).id, id)
  await second.join(operation)
  assert.deepEqual(await namesOf(first), ['n1', 'n2'])
  await third.join(second.operation(second.members()))
  assert.deepEqual(await namesOf(third), ['n1', 'n2', 'n3'])
  await third
    .join(operation)
    .catch(() => assert.fail('a member that runs already joins again without effect'))
  assert.match(first.etcdctl('member', 'list'), /n3.*false/)

  await third.kill()
  for (const name of ['two', 'three', 'four']) await write(store, name)
  await third.start()
  await third.wait()
  const revision = await store.revision()
  const hashes = await Promise.all(
    hosts.map(({ plan: { localUrl: endpoint } }) => members.hashKv({ endpoint, revision })),
  )
  assert.equal(new Set(hashes.map(({ hash }) => hash)).size, 1, 'the member that was away has all writes')

  const leader = await leaderOf(hosts)
  const others = hosts.filter(host => host !== leader)
  await using remaining = leader.members(hosts.map(({ plan }) => plan.clientUrl))
  assert.equal(await leader.leave(leader.operation(remaining)), 'removed')
  assert.equal(await leader.leave(leader.operation(remaining)), 'absent')
  assert.match(leader.progress.join('\n'), /etcd member n\d leads in place of n\d/)
  await leader.kill()
  await write(store, 'five')
  const [next, last] = others
  assert.ok(next && last)
  await assert.rejects(
    leader.add(next.operation(next.members())),
    /data of a member that is not in.*k8ts reset/,
  )
  await using final = last.members()
  assert.equal(await next.leave(last.operation(final)), 'removed')
  await next.kill()
  assert.equal(await last.leave(last.operation(final)), 'last-member')
  await write(store, 'six')
})

test('a host that does not fit to the etcd of the cluster is refused', options, async t => {
  const [first, second] = await makeHosts(t, 2)
  assert.ok(first && second)
  await first.start()
  await first.wait()
  await using members = first.members()
  const operation = first.operation(members)

  const stranger = await StackedHost.create({ folder: await temporaryFolder(t), number: 9 })
  await using untrusting = first.members([first.plan.localUrl], { ...first.tls, ca: stranger.tls.ca! })
  await assert.rejects(untrusting.list(), {
    reason: 'untrusted',
    message: /no TLS connection to etcd: https:\/\/127\.0\.0\.1:\d+: .*certificate.*same etcd CA/,
  })
  await using untrusted = first.members([first.plan.localUrl], { ...stranger.tls, ca: first.tls.ca! })
  await assert.rejects(untrusted.list(), { reason: 'untrusted' })
  await using absent = first.members([second.plan.clientUrl])
  await assert.rejects(
    second.add({ ...first.operation(absent), timeoutMs: 1_000 }),
    /cannot add etcd member n2: etcd cannot be reached: https:\/\/127\.0\.0\.2:\d+: .*ECONNREFUSED/,
  )

  await second.join(operation)
  await second.kill()
  await assert.rejects(members.list(), { reason: 'no-quorum', message: /^the etcd cluster has no quorum/ })
  await assert.rejects(
    first.wait(2_000),
    /cannot read from etcd at https.* within 2 s: .*its log is .*etcd\.log/,
  )
  await assert.rejects(
    second.leave(operation),
    /cannot remove the etcd member at .*: the etcd cluster has no quorum/,
  )
  await second.start()
  await second.wait()
  await first.wait()
  await rename(second.plan.dataDir, `${second.plan.dataDir}.lost`)
  await assert.rejects(second.add(operation), /a member at https.* whose data is not in .*k8ts reset/)
})

async function makeHosts(t: TestContext, count: number): Promise<StackedHost[]> {
  const folder = await temporaryFolder(t)
  const hosts: StackedHost[] = []
  for (let number = 1; number <= count; number++) {
    const host = await StackedHost.create({ folder, number, ...(hosts[0] && { first: hosts[0] }) })
    hosts.push(host)
    t.after(() => host[Symbol.asyncDispose]())
  }
  return hosts
}

function openStore(t: TestContext, hosts: readonly StackedHost[]): Store {
  const endpoints = hosts.map(({ plan }) => plan.clientUrl)
  const store = EtcdStore.open({ platform, connect, endpoints, tls: hosts[0]!.tls })
  t.after(() => store[Symbol.asyncDispose]())
  return store
}

async function write(store: Store, name: string): Promise<void> {
  assert.ok((await store.create(`/registry/${name}`, Buffer.from(name))).written)
}

/** Of the members with a vote. */
async function namesOf(host: StackedHost): Promise<string[]> {
  await using members = host.members()
  const all = await members.list()
  assert.deepEqual(
    all.filter(({ isLearner }) => isLearner),
    [],
  )
  return all.map(({ name }) => name).sort()
}

async function leaderOf(hosts: readonly StackedHost[]): Promise<StackedHost> {
  for (const host of hosts) {
    await using members = host.members()
    const { leaderId, memberId } = await members.status(host.plan.localUrl)
    if (leaderId === memberId) return host
  }
  return assert.fail('a member leads')
}
