import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, type GrpcChannel } from '#/platform/grpc.ts'
import { Simulation } from '#/platform/simulated.ts'
import {
  AlarmRequest,
  AlarmResponse,
  CompactionRequest,
  compareModRevision,
  deleteEvent,
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
  WatchRequest,
  WatchResponse,
} from '#/store/etcd-messages.ts'
import { SimulatedEtcd } from './simulated-etcd.ts'

const hasLeader = { hasleader: 'true' }
const timeoutMs = 3_000

class Setup {
  readonly simulation: Simulation
  readonly etcd: SimulatedEtcd
  readonly channel: GrpcChannel

  constructor(seed = 1, targets: readonly number[] = [0, 1, 2]) {
    this.simulation = new Simulation({ seed })
    this.etcd = new SimulatedEtcd({ simulation: this.simulation })
    this.channel = this.etcd.connect(this.simulation.host('api'))({
      targets: targets.map(index => this.etcd.endpoints[index]!),
      keepalive: { intervalMs: 10_000, timeoutMs: 5_000 },
    })
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return this.simulation.run(promise)
  }

  /** Returns the revision. */
  async put(key: string, value = 'x', lease: number | bigint = 0): Promise<number> {
    const put = { requestPut: { key: Buffer.from(key), value: Buffer.from(value), lease } }
    return (await this.txn({ success: [put] })).header?.revision ?? 0
  }

  async txn(
    request: Parameters<typeof TxnRequest.encode>[0],
  ): Promise<ReturnType<typeof TxnResponse.decode>> {
    return TxnResponse.decode(await this.call('KV/Txn', TxnRequest.encode(request)))
  }

  async get(key: string, revision = 0): Promise<string | undefined> {
    const bytes = await this.call('KV/Range', RangeRequest.encode({ key: Buffer.from(key), revision }))
    const [kv] = RangeResponse.decode(bytes).kvs
    return kv && Buffer.from(kv.value).toString()
  }

  async compact(revision: number): Promise<void> {
    await this.call('KV/Compact', CompactionRequest.encode({ revision }))
  }

  async grantLease(ttl: number): Promise<number | bigint> {
    return LeaseGrantResponse.decode(await this.call('Lease/LeaseGrant', LeaseGrantRequest.encode({ ttl })))
      .id
  }

  call(method: string, request: Uint8Array): Promise<Uint8Array> {
    return this.channel.unary(`/etcdserverpb.${method}`, request, { timeoutMs, metadata: hasLeader })
  }

  /** Watches all keys. What arrives is added to `seen` as text. */
  watch(startRevision = 0, seen: string[] = []): string[] {
    const stream = this.channel.stream('/etcdserverpb.Watch/Watch', { metadata: hasLeader })
    const all = Uint8Array.of(0)
    const read = async (): Promise<void> => {
      const createRequest = { key: all, rangeEnd: all, startRevision, fragment: true }
      await stream.send(WatchRequest.encode({ createRequest }))
      try {
        for await (const bytes of stream) seen.push(...showResponse(WatchResponse.decode(bytes)))
      } catch (error) {
        seen.push(String(error))
      }
    }
    void read()
    return seen
  }
}

function showResponse({
  created,
  compactRevision,
  events,
  fragment,
}: ReturnType<typeof WatchResponse.decode>): string[] {
  const shown = events.map(
    ({ type, kv }) =>
      `${type === deleteEvent ? 'delete' : 'put'} ${Buffer.from(kv?.key ?? []).toString()} ${kv?.modRevision}`,
  )
  if (created) shown.push('created')
  if (compactRevision > 0) shown.push(`compacted ${compactRevision}`)
  return fragment ? [...shown, 'fragment'] : shown
}

/** Text of the error and whether the request was sent. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'no error'
  } catch (error) {
    assert.ok(error instanceof GrpcError)
    return `${error.message}, ${error.sent ? 'sent' : 'not sent'}`
  }
}

test('a refused connection is tried with the next member, and fails unsent when no member is left', async () => {
  const setup = new Setup()
  const { etcd } = setup
  etcd.disconnect('api', 'refused', ['etcd-1', 'etcd-2'])
  assert.equal(await setup.run(setup.put('a')), 2)
  etcd.disconnect('api', 'refused')
  await setup.simulation.advance(100)
  assert.equal(await setup.run(failureOf(setup.put('a'))), 'unavailable: no target can be reached, not sent')
  assert.equal(etcd.revision, 2)
})

test('a request over a silent connection fails at its deadline, and the next goes to another member', async () => {
  const setup = new Setup()
  await setup.run(setup.put('a'))
  setup.etcd.disconnect('api', 'silent', ['etcd-1'])
  assert.equal(await setup.run(failureOf(setup.put('b'))), 'deadline-exceeded: Deadline exceeded, sent')
  assert.equal(await setup.run(setup.put('c')), 3)
})

test('a request that was held by a silent connection may be executed after it is restored', async () => {
  const outcomes = new Set<string | undefined>()
  for (let seed = 0; seed < 10; seed++) {
    const setup = new Setup(seed)
    await setup.run(setup.put('a'))
    setup.etcd.disconnect('api', 'silent', ['etcd-1'])
    await setup.run(failureOf(setup.put('a', 'late')))
    assert.equal(await setup.run(setup.get('a')), 'x')
    setup.etcd.reconnect('api')
    await setup.simulation.advance(1_000)
    outcomes.add(await setup.run(setup.get('a')))
  }
  assert.deepEqual(outcomes, new Set(['x', 'late']))
})

test('a request whose response is lost is executed', async () => {
  const setup = new Setup()
  await setup.run(setup.put('a'))
  setup.etcd.disconnect('api', 'responses-lost')
  assert.equal(await setup.run(failureOf(setup.put('a', 'y'))), 'deadline-exceeded: Deadline exceeded, sent')
  assert.equal(setup.etcd.revision, 3)
})

test('a crash of a member breaks its calls and connections, and its data survives', async () => {
  const setup = new Setup(1, [0])
  const seen = setup.watch()
  await setup.run(setup.put('a'))
  setup.etcd.crash('etcd-1')
  assert.equal(await setup.run(failureOf(setup.get('a'))), 'unavailable: Connection dropped, sent')
  assert.deepEqual(seen, ['created', 'put a 2', 'GrpcError: unavailable: Connection dropped'])
  assert.equal(await setup.run(failureOf(setup.get('a'))), 'unavailable: no target can be reached, not sent')
  setup.etcd.restart('etcd-1')
  await setup.simulation.advance(3_000)
  assert.equal(await setup.run(setup.get('a')), 'x')
})

test('an isolated member neither reads nor writes, and refuses once it misses its leader', async () => {
  const setup = new Setup(1, [2])
  await setup.run(setup.put('a'))
  setup.etcd.isolate('etcd-3')
  assert.equal(await setup.run(failureOf(setup.get('a'))), 'deadline-exceeded: Deadline exceeded, sent')
  assert.equal(await setup.run(failureOf(setup.get('a'))), 'unavailable: etcdserver: no leader, sent')
  assert.equal(await setup.run(failureOf(setup.put('a'))), 'unavailable: etcdserver: no leader, sent')
  assert.equal(setup.etcd.leaderName, 'etcd-1')
  setup.etcd.rejoin('etcd-3')
  assert.equal(await setup.run(setup.get('a')), 'x')
})

test('a watch of an isolated member pauses, and ends when the member misses its leader for long', async () => {
  const isolated = new Setup(1, [2])
  const { simulation, etcd } = isolated
  const seen = isolated.watch()
  await isolated.run(isolated.put('a'))
  etcd.isolate('etcd-3')
  const other = etcd.connect(simulation.host('other'))({ targets: [etcd.endpoints[0]!] })
  const put = { requestPut: { key: Buffer.from('b'), value: Buffer.from('y') } }
  await simulation.run(other.unary('/etcdserverpb.KV/Txn', TxnRequest.encode({ success: [put] })))
  await simulation.advance(2_000)
  assert.deepEqual(seen, ['created', 'put a 2'])
  etcd.rejoin('etcd-3')
  await simulation.advance(100)
  assert.deepEqual(seen, ['created', 'put a 2', 'put b 3'])
  etcd.isolate('etcd-3')
  await simulation.advance(10_000)
  assert.deepEqual(seen.slice(3), ['GrpcError: unavailable: etcdserver: no leader'])
})

test('a cluster without a majority has no leader until one is back', async () => {
  const setup = new Setup()
  await setup.run(setup.put('a'))
  setup.etcd.crash('etcd-2')
  assert.equal(await setup.run(setup.put('a')), 3)
  setup.etcd.isolate('etcd-3')
  await setup.simulation.advance(1_000)
  assert.equal(setup.etcd.leaderName, undefined)
  assert.equal(await setup.run(failureOf(setup.put('a'))), 'unavailable: etcdserver: no leader, sent')
  setup.etcd.restart('etcd-2')
  await setup.simulation.advance(2_000)
  assert.ok(setup.etcd.leaderName)
  assert.equal(await setup.run(setup.put('a')), 4)
})

test('the outcome of a write during a change of the leader is unknown', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 40; seed++) {
    const setup = new Setup(seed)
    await setup.run(setup.put('a'))
    const failure = failureOf(setup.put('a', 'y'))
    await setup.simulation.advance(seed / 20)
    setup.etcd.changeLeader()
    const text = await setup.run(failure)
    outcomes.add(`${text}, ${setup.etcd.revision === 3 ? 'executed' : 'not executed'}`)
  }
  for (const text of ['leader changed', 'request timed out, possibly due to previous leader failure'])
    for (const outcome of ['executed', 'not executed'])
      assert.ok(outcomes.has(`unavailable: etcdserver: ${text}, sent, ${outcome}`), `${text}, ${outcome}`)
})

test('a member that lags delivers watches late, and its linearizable reads wait', async () => {
  const setup = new Setup(1, [2])
  const { simulation, etcd } = setup
  await setup.run(setup.put('a'))
  etcd.setLag('etcd-3', 1_000)
  const seen = setup.watch()
  const other = etcd.connect(simulation.host('other'))({ targets: [etcd.endpoints[0]!] })
  const put = { requestPut: { key: Buffer.from('a'), value: Buffer.from('new') } }
  await simulation.run(other.unary('/etcdserverpb.KV/Txn', TxnRequest.encode({ success: [put] })))
  const startMs = simulation.nowMs
  assert.deepEqual(seen, ['created'])
  assert.equal(await setup.run(setup.get('a')), 'new')
  assert.ok(simulation.nowMs - startMs > 900)
  await simulation.advance(10)
  assert.deepEqual(seen, ['created', 'put a 3'])
})

test('keepalive disconnects a member that hangs', async () => {
  const setup = new Setup()
  const seen = setup.watch()
  await setup.simulation.advance(100)
  setup.etcd.stop('etcd-1')
  await setup.simulation.advance(9_000)
  assert.deepEqual(seen, ['created'])
  await setup.simulation.advance(10_000)
  assert.deepEqual(seen, ['created', 'GrpcError: unavailable: Connection dropped'])
})

test('a NOSPACE alarm rejects puts, and a CORRUPT alarm everything', async () => {
  const setup = new Setup()
  const remove = (): Promise<string> => {
    return failureOf(setup.txn({ success: [{ requestDeleteRange: { key: Buffer.from('a') } }] }))
  }
  await setup.run(setup.put('a'))
  setup.etcd.raiseAlarm('NOSPACE')
  const noSpace = 'resource-exhausted: etcdserver: mvcc: database space exceeded, sent'
  assert.equal(await setup.run(failureOf(setup.put('a'))), noSpace)
  assert.equal(await setup.run(remove()), 'no error')
  const alarms = await setup.run(setup.call('Maintenance/Alarm', AlarmRequest.encode({})))
  assert.deepEqual(AlarmResponse.decode(alarms).alarms, [{ alarm: 1 }])
  setup.etcd.disarm('NOSPACE')
  setup.etcd.raiseAlarm('CORRUPT')
  assert.equal(await setup.run(remove()), 'data-loss: etcdserver: corrupt cluster, sent')
  assert.equal(await setup.run(failureOf(setup.get('a'))), 'data-loss: etcdserver: corrupt cluster, sent')
})

test('a watch before the compacted revision is canceled, one from it misses its deletions', async () => {
  const setup = new Setup()
  await setup.run(setup.put('a'))
  await setup.run(setup.txn({ success: [{ requestDeleteRange: { key: Buffer.from('a') } }] }))
  await setup.run(setup.put('b'))
  await setup.run(setup.compact(3))
  const [before, at, after] = [setup.watch(2), setup.watch(3), setup.watch(4)]
  await setup.simulation.advance(100)
  assert.deepEqual(before, ['created', 'compacted 3'])
  assert.deepEqual(at, ['created', 'put b 4'])
  assert.deepEqual(after, ['created', 'put b 4'])
  const compacted = 'out-of-range: etcdserver: mvcc: required revision has been compacted, sent'
  const future = 'out-of-range: etcdserver: mvcc: required revision is a future revision, sent'
  assert.equal(await setup.run(failureOf(setup.get('a', 2))), compacted)
  assert.equal(await setup.run(failureOf(setup.compact(3))), compacted)
  assert.equal(await setup.run(failureOf(setup.get('a', 5))), future)
  assert.equal(await setup.run(failureOf(setup.compact(5))), future)
})

test('a transaction compares the mod revision', async () => {
  const setup = new Setup()
  const key = Buffer.from('a')
  const swap = (modRevision: number) =>
    setup.txn({
      compare: [{ target: compareModRevision, key, modRevision }],
      success: [{ requestPut: { key, value: Buffer.from('y') } }],
      failure: [{ requestRange: { key } }],
    })
  assert.equal((await setup.run(swap(0))).succeeded, true)
  const { succeeded, responses } = await setup.run(swap(0))
  assert.deepEqual([succeeded, responses[0]?.responseRange?.kvs[0]?.modRevision], [false, 2])
  assert.equal((await setup.run(swap(2))).succeeded, true)
  assert.equal(setup.etcd.revision, 3)
})

test('the keys of an expired lease are deleted in one revision, and a new leader renews leases', async () => {
  const setup = new Setup()
  const lease = await setup.run(setup.grantLease(10))
  await setup.run(setup.put('a', 'x', lease))
  await setup.run(setup.put('b', 'x', lease))
  const seen = setup.watch()
  const timeToLive = async (): Promise<number> => {
    const bytes = await setup.call('Lease/LeaseTimeToLive', LeaseTimeToLiveRequest.encode({ id: lease }))
    return LeaseTimeToLiveResponse.decode(bytes).ttl
  }
  await setup.simulation.advance(8_000)
  assert.equal(await setup.run(timeToLive()), 1)
  setup.etcd.changeLeader()
  await setup.simulation.advance(8_000)
  assert.deepEqual(seen, ['created'])
  await setup.simulation.advance(5_000)
  assert.deepEqual(seen, ['created', 'delete a 4', 'delete b 4'])
  assert.equal(await setup.run(timeToLive()), -1)
  const missing = 'not-found: etcdserver: requested lease not found, sent'
  assert.equal(await setup.run(failureOf(setup.put('c', 'x', lease))), missing)
})

test('a host that crashes leaves its requests to the member and hears nothing', async () => {
  const setup = new Setup()
  await setup.run(setup.put('a'))
  let isAnswered = false
  void setup.put('a', 'y').finally(() => (isAnswered = true))
  await setup.simulation.advance(0.01)
  setup.simulation.host('api').crash()
  await setup.simulation.advance(10_000)
  assert.deepEqual([isAnswered, setup.etcd.revision], [false, 3])
})
