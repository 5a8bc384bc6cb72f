import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { loadGrpc, nodePlatform } from '#/platform/node.ts'
import { EtcdStore, type EtcdStoreOptions } from '#/store/etcd.ts'
import {
  StoreError,
  type Store,
  type StoreErrorReason,
  type StoreEvent,
  type WatchBatch,
} from '#/store/store.ts'
import { makeCertificates } from './etcd/certificates.ts'
import { endpointsOf, EtcdCluster, etcdMissing } from './etcd/cluster.ts'
import { Link } from './etcd/link.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { waitUntil } from './wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connectGrpc = await loadGrpc()
const options = { skip: etcdMissing, timeout: 60_000 }

test('while etcd members fail in turn, writes succeed and each is watched once', options, async t => {
  const cluster = await start(t, 3)
  const store = open(t, cluster, { attemptTimeoutMs: 500 })
  const elsewhere = open(t, cluster, { endpoints: cluster.endpoints.toReversed(), attemptTimeoutMs: 500 })
  const link = await Link.to(cluster.endpoints[0]!)
  t.after(() => link.close())
  const distant = open(t, cluster, { endpoints: [link.endpoint] })
  const before = await store.revision()
  const watches = [store, elsewhere, distant].map(each => watchAll(t, each, before))
  const writers = [0, 1, 2, 3].map(index => new CountingWriter(store, `/registry/counters/${index}`))
  const goOn = async (): Promise<void> => {
    await Promise.all(writers.map(writer => writer.untilMore(20)))
  }
  await goOn()
  link.lose('everything')
  await goOn()
  link.renew()
  const killed = (await cluster.roles()).leader
  await killed.kill()
  await goOn()
  killed.start()
  await goOn()
  const cutOff = (await cluster.roles()).leader
  cutOff.cutOff()
  await goOn()
  cutOff.reconnect()
  await goOn()
  await Promise.all(writers.map(writer => writer.stop()))
  const revision = await store.revision()
  for (const watch of watches) {
    await waitUntil(() => watch.revision >= revision || watch.requestProgress())
    const revisions = watch.events.map(event => event.revision)
    const inOrder = [...new Set(revisions)].sort((left, right) => left - right)
    assert.deepEqual(revisions, inOrder, 'each once and in order')
    for (const writer of writers) writer.check(watch.events)
  }
  for (const watch of watches) assert.deepEqual(watch.events, watches[0]!.events)
})

test('reads, writes and watches leave an etcd member that hangs', options, async t => {
  const cluster = await start(t, 3)
  const {
    leader,
    followers: [follower],
  } = await cluster.roles()
  assert.ok(follower)
  const store = open(t, cluster, {
    endpoints: endpointsOf([follower, leader]),
    attemptTimeoutMs: 500,
    // Without keepalive nothing else notices that the member hangs.
    connect: ({ keepalive: _keepalive, ...rest }) => connectGrpc(rest),
  })
  const watch = watchAll(t, store, await store.revision())
  const created = await write(store, '/registry/a', '1')
  await waitUntil(() => watch.events.length === 1)
  follower.halt()
  assert.equal(await readText(store, '/registry/a'), '1')
  // An update and not a creation: on a slow machine an attempt can reach the member that hangs once more, and
  // only updates are retried.
  const updated = await store.update('/registry/a', Buffer.from('2'), { expectedRevision: created })
  assert.ok(updated.written)
  await waitUntil(() => watch.events.length === 2)
  follower.resume()
  assert.ok(
    (await store.update('/registry/a', Buffer.from('3'), { expectedRevision: updated.revision })).written,
  )
  await waitUntil(() => watch.events.length === 3)
})

test('an etcd member without quorum rejects reads and writes', options, async t => {
  const cluster = await start(t, 3)
  const {
    leader,
    followers: [alone, other],
  } = await cluster.roles()
  assert.ok(alone && other)
  const majority = open(t, cluster, { endpoints: endpointsOf([leader, other]) })
  const timeouts = { attemptTimeoutMs: 400, requestTimeoutMs: 1_000 }
  const store = open(t, cluster, { endpoints: [alone.endpoint], ...timeouts })
  const watch = watchAll(t, store, await store.revision())
  const roaming = open(t, cluster, { endpoints: endpointsOf([alone, leader, other]) })
  const movingWatch = watchAll(t, roaming, await roaming.revision())
  await write(majority, '/registry/a', '1')
  await waitUntil(() => watch.events.length === 1 && movingWatch.events.length === 1)
  const refuses = async (): Promise<void> => {
    await Promise.all([
      assert.rejects(store.get('/registry/a'), failsWith('unavailable')),
      assert.rejects(store.revision(), failsWith('unavailable')),
      assert.rejects(store.create('/registry/b', Buffer.from('never')), failsWith('unavailable')),
    ])
  }
  alone.cutOff()
  await refuses()
  await write(majority, '/registry/c', '3')
  await waitUntil(() => movingWatch.events.length === 2)
  alone.reconnect()
  await waitUntil(() => store.get('/registry/c').then(Boolean, () => false))
  assert.equal(await store.get('/registry/b'), undefined)
  await waitUntil(() => watch.events.length === 2)
  await Promise.all([leader.kill(), other.kill()])
  await refuses()
  assert.equal(watch.events.length, 2)
})

test(
  'an etcd at its quota rejects writes and raises the alarm NOSPACE until it is disarmed',
  options,
  async t => {
    const cluster = await start(t, 1, { 'quota-backend-bytes': '4000000' })
    const store = open(t, cluster)
    const large = Buffer.alloc(500_000, 'x')
    await write(store, '/registry/a', large.toString())
    assert.deepEqual(store.alarms.current, [])
    const fill = async (): Promise<void> => {
      for (let number = 0; ; number++) await store.create(`/registry/filler/${number}`, large)
    }
    await assert.rejects(fill(), { reason: 'full' })
    const isRaised = ({ alarms }: Store): boolean => alarms.current.some(({ type }) => type === 'NOSPACE')
    assert.ok(isRaised(store))
    // The alarm is found without a write.
    const later = open(t, cluster)
    await waitUntil(() => isRaised(later))

    for (const { key, revision } of (await store.list({ prefix: '/registry/' })).entries) {
      // etcd accepts no put in the transaction of a deletion either, so it has no note.
      const note = Buffer.from('note')
      assert.ok((await store.delete(key, { expectedRevision: revision, note })).written)
    }
    assert.ok(isRaised(store), 'deletions are accepted in spite of the alarm')
    cluster.etcdctl(['compact', '--physical', String(await store.revision())])
    cluster.etcdctl(['defrag'])
    cluster.etcdctl(['alarm', 'disarm'])
    await write(store, '/registry/b', 'small')
    assert.ok(!isRaised(store))
  },
)

test('a watch overtaken by compaction while disconnected ends with compacted', options, async t => {
  const cluster = await start(t, 3)
  const {
    leader,
    followers: [alone, other],
  } = await cluster.roles()
  assert.ok(alone && other)
  const store = open(t, cluster, { endpoints: endpointsOf([leader, other]) })
  const apart = open(t, cluster, { endpoints: [alone.endpoint] })
  const watch = watchAll(t, apart, await apart.revision())
  await write(store, '/registry/a', '1')
  await waitUntil(() => watch.events.length === 1)
  await alone.kill()
  const revision = await write(store, '/registry/b', '2')
  await write(store, '/registry/c', '3')
  await store.compact(revision)
  alone.start()
  await waitUntil(() => watch.failure !== undefined)
  assert.ok(failsWith('compacted')(watch.failure), String(watch.failure))
  assert.equal(await apart.compactedRevision(), revision)
  const again = watchAll(t, apart, revision)
  await waitUntil(() => again.events.length === 1)
})

test('the outcome of a write with a lost response is determined', options, async t => {
  const cluster = await start(t, 1)
  const store = open(t, cluster)
  const link = await Link.to(cluster.endpoints[0]!)
  t.after(() => link.close())
  const distant = open(t, cluster, { endpoints: [link.endpoint], attemptTimeoutMs: 1_000 })
  const kept = await write(distant, '/registry/kept', '1')
  const doomed = await write(distant, '/registry/doomed', '1')

  link.lose('answers')
  const created = distant.create('/registry/created', Buffer.from('mine'))
  const updated = distant.update('/registry/kept', Buffer.from('mine'), { expectedRevision: kept })
  const deleted = distant.delete('/registry/doomed', { expectedRevision: doomed })
  const outcomes = Promise.allSettled([created, updated, deleted])
  await waitUntil(async () => (await readText(store, '/registry/created')) === 'mine')
  await waitUntil(async () => (await readText(store, '/registry/kept')) === 'mine')
  await waitUntil(async () => (await store.get('/registry/doomed')) === undefined)
  const ours = (await store.get('/registry/kept'))!.revision
  const later = await store.update('/registry/kept', Buffer.from('theirs'), { expectedRevision: ours })
  assert.ok(later.written)
  link.renew()
  const [creation, update, deletion] = await outcomes
  const revision = (await store.get('/registry/created'))!.revision
  assert.deepEqual(creation, { status: 'fulfilled', value: { written: true, revision } })
  assert.deepEqual(update, { status: 'fulfilled', value: { written: true, revision: ours } })
  assert.ok(deletion.status === 'rejected' && failsWith('unavailable')(deletion.reason))

  link.lose('everything')
  const lost = distant.update('/registry/kept', Buffer.from('lost'), { expectedRevision: later.revision })
  const never = distant.create('/registry/never', Buffer.from('lost'))
  const refused = assert.rejects(never, failsWith('unavailable'))
  await waitUntil(() => link.droppedBytes > 0)
  const won = await store.update('/registry/kept', Buffer.from('won'), { expectedRevision: later.revision })
  link.renew()
  assert.deepEqual(await lost, { written: false, current: await store.get('/registry/kept') })
  assert.ok(won.written)
  await refused
  assert.equal(await store.get('/registry/never'), undefined)
})

test('a watch that falls behind rereads etcd in parts and misses no event', options, async t => {
  const cluster = await start(t, 1)
  const store = open(t, cluster, { recentBytesMax: 100_000 })
  const begin = await store.revision()
  const iterator = store.watch({ prefix: '/registry/', afterRevision: begin })[Symbol.asyncIterator]()
  const value = Buffer.alloc(300_000, 'x')
  const expected: number[] = []
  for (let index = 0; index < 20; index++) {
    const result = await store.create(`/registry/${index}`, value)
    expected.push(result.written ? result.revision : 0)
  }
  const seen: number[] = []
  while (seen.length < 10) seen.push(...(await nextRevisions(iterator)))
  for (let index = 0; index < 20; index++) {
    const result = await store.create(`/registry/more${index}`, Buffer.alloc(10_000))
    expected.push(result.written ? result.revision : 0)
  }
  while (seen.length < 40) seen.push(...(await nextRevisions(iterator)))
  expected.push(await write(store, '/registry/last', 'x'))
  seen.push(...(await nextRevisions(iterator)))
  await iterator.return?.()
  assert.deepEqual(seen, expected)
})

test('etcdctl shows keys and values, and stores with different prefixes are separate', options, async t => {
  const cluster = await start(t, 1)
  const store = open(t, cluster)
  await write(store, '/registry/pods/default/web', '{"kind":"Pod"}')
  const shown = cluster.etcdctl(['get', '/registry', '--prefix'])
  assert.equal(shown, '/registry/pods/default/web\n{"kind":"Pod"}\n')
  const other = open(t, cluster, { prefix: '/other' })
  const watches = [watchAll(t, store, 0), watchAll(t, other, 0)]
  await write(other, '/registry/pods/default/web', '{"kind":"Other"}')
  await waitUntil(() => watches.every(watch => watch.events.length === 1))
  assert.equal(await readText(store, '/registry/pods/default/web'), '{"kind":"Pod"}')
  const otherKeys = cluster.etcdctl(['get', '/other', '--prefix', '--keys-only'])
  assert.equal(otherKeys.trim(), '/other/registry/pods/default/web')
  const { entries } = await other.list({ prefix: '/registry/' })
  assert.deepEqual(
    entries.map(entry => entry.key),
    ['/registry/pods/default/web'],
  )
})

test('keys with the same long time to live share a lease', options, async t => {
  const cluster = await start(t, 1)
  const store = open(t, cluster)
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => {
      return store.create(`/registry/events/${index}`, Buffer.from('{}'), { ttlMs: 3_600_000 })
    }),
  )
  const leases = cluster
    .etcdctl(['lease', 'list'])
    .split('\n')
    .filter(line => /^[0-9a-f]+$/.test(line))
  assert.equal(leases.length, 1)
  assert.match(cluster.etcdctl(['lease', 'timetolive', leases[0]!]), /granted with TTL\(3660s\)/)
  cluster.etcdctl(['lease', 'revoke', leases[0]!])
  const result = await store.create('/registry/events/after', Buffer.from('{}'), { ttlMs: 3_600_000 })
  assert.ok(result.written, 'a lease that is gone is replaced')
})

test('pages of a list from etcd are consistent', options, async t => {
  const cluster = await start(t, 1)
  const store = open(t, cluster)
  for (let round = 0; round < 25; round++) {
    const names = Array.from({ length: 100 }, (_, index) => round * 100 + index + 10_000)
    await Promise.all(names.map(name => write(store, `/registry/k/${name}`, 'x')))
  }
  const all = await store.list({ prefix: '/registry/k/' })
  assert.equal(all.entries.length, 2_500)
  assert.equal(all.remaining, 0)
  const some = await store.list({ prefix: '/registry/k/', limit: 1_500, after: all.entries[99]!.key })
  assert.deepEqual([some.entries.length, some.remaining], [1_500, 900])
  assert.equal(some.entries[0]!.key, all.entries[100]!.key)
})

test('a renewed client certificate is used without reopening the store', options, async t => {
  const cluster = await start(t, 1)
  const folder = await temporaryFolder(t)
  const { ca, cert, key } = (await makeCertificates(folder)).files
  const store = open(t, cluster, {
    tls: { ...cluster.certificates.client, files: { ca, cert, key } },
    attemptTimeoutMs: 500,
    requestTimeoutMs: 1_000,
  })
  await assert.rejects(store.revision(), { reason: 'unavailable' })
  for (const name of ['ca', 'cert', 'key'] as const)
    await copyFile(cluster.certificates.files[name], join(folder, basename({ ca, cert, key }[name])))
  const isOpen = async (): Promise<boolean> => {
    try {
      return (await store.revision()) > 0
    } catch {
      return false
    }
  }
  await waitUntil(isOpen)
})

test('a closed etcd store rejects all requests', options, async t => {
  const cluster = await start(t, 1)
  const store = open(t, cluster)
  const watch = watchAll(t, store, await store.revision())
  await write(store, '/registry/a', '1')
  const reads = Array.from({ length: 20 }, () => store.get('/registry/a'))
  const running = assert.rejects(Promise.all(reads), failsWith('closed'))
  await store[Symbol.asyncDispose]()
  await running
  await waitUntil(() => watch.failure !== undefined)
  assert.ok(failsWith('closed')(watch.failure))
  await assert.rejects(store.revision(), failsWith('closed'))
  await assert.rejects(store.create('/registry/b', Buffer.from('x')), failsWith('closed'))
  await assert.rejects(store.compactedRevision(), failsWith('closed'))
})

/** Increments a counter in one key, from the last value seen, as fast as possible. */
class CountingWriter {
  readonly #store: Store
  readonly #key: string
  /** The acknowledged values by revision. */
  readonly #acknowledged = new Map<number, string>()
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  constructor(store: Store, key: string) {
    this.#store = store
    this.#key = key
    this.#running = this.#run()
  }

  async untilMore(count: number): Promise<void> {
    const goal = this.#acknowledged.size + count
    await waitUntil(() => this.#acknowledged.size >= goal)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** Checks that all acknowledged writes are among the events, unchanged. */
  check(events: readonly StoreEvent[]): void {
    const seen = events.filter(event => event.key === this.#key)
    const values = new Map(seen.map(event => [event.revision, event.type === 'put' ? text(event.value) : '']))
    for (const [revision, value] of this.#acknowledged) assert.equal(values.get(revision), value)
    const counts = Array.from(values.keys(), (_, index) => String(index))
    assert.deepEqual([...values.values()], counts, 'no count is lost or repeated')
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        const current = await this.#store.get(this.#key)
        const value = current ? String(Number(text(current.value)) + 1) : '0'
        const result = current
          ? await this.#store.update(this.#key, Buffer.from(value), { expectedRevision: current.revision })
          : await this.#store.create(this.#key, Buffer.from(value))
        if (result.written) this.#acknowledged.set(result.revision, value)
      } catch (error) {
        assert.ok(failsWith('unavailable')(error), String(error))
      }
    }
  }
}

interface RunningWatch {
  readonly events: StoreEvent[]
  revision: number
  failure: unknown
  /** Always returns false, for use in a wait loop. */
  requestProgress(): boolean
}

function watchAll(t: TestContext, store: Store, afterRevision: number): RunningWatch {
  const controller = new AbortController()
  const watch = store.watch({ prefix: '/registry/', afterRevision, signal: controller.signal })
  const running: RunningWatch = {
    events: [],
    revision: afterRevision,
    failure: undefined,
    requestProgress: () => {
      watch.requestProgress()
      return false
    },
  }
  const reading = (async () => {
    for await (const batch of watch) {
      assert.ok(batch.revision >= running.revision)
      running.revision = batch.revision
      running.events.push(...batch.events)
    }
  })().catch((error: unknown) => {
    running.failure = error
  })
  t.after(async () => {
    controller.abort()
    await reading
  })
  return running
}

async function start(
  t: TestContext,
  size: number,
  flags: Readonly<Record<string, string>> = {},
): Promise<EtcdCluster> {
  const cluster = await EtcdCluster.start(size, flags)
  t.after(() => cluster[Symbol.asyncDispose]())
  await open(t, cluster).revision()
  return cluster
}

function open(t: TestContext, cluster: EtcdCluster, some: Partial<EtcdStoreOptions> = {}): EtcdStore {
  const tls = cluster.certificates.client
  const store = EtcdStore.open({ platform, connect: connectGrpc, endpoints: cluster.endpoints, tls, ...some })
  t.after(() => store[Symbol.asyncDispose]())
  return store
}

async function write(store: Store, key: string, value: string): Promise<number> {
  const result = await store.create(key, Buffer.from(value))
  assert.ok(result.written)
  return result.revision
}

async function readText(store: Store, key: string): Promise<string | undefined> {
  const entry = await store.get(key)
  return entry && text(entry.value)
}

async function nextRevisions(iterator: AsyncIterator<WatchBatch>): Promise<number[]> {
  const { value, done } = await iterator.next()
  assert.ok(!done)
  return value.events.map(event => event.revision)
}

function failsWith(reason: StoreErrorReason): (error: unknown) => boolean {
  return error => error instanceof StoreError && error.reason === reason
}

function text(value: Uint8Array): string {
  return Buffer.from(value).toString()
}
