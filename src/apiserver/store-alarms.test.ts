/** A real API server on the embedded store on a simulated disk that becomes full, damaged or slow. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Log, LogFields, Platform } from '#/platform/platform.ts'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import { EmbeddedStore, type EmbeddedStoreOptions } from '#/store/embedded.ts'
import { Health } from './health.ts'
import { Metrics } from './metrics.ts'
import { observability } from './observability.ts'
import { storeAlarmChecks } from './store-alarms.ts'
import { part, startTestServer, type Answer, type TestServer } from './test-server.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const kibibyte = 1024
const mebibyte = 1024 * kibibyte
const minuteMs = 60_000

test('at the quota writes get the answer of etcd, and deleting objects makes them work again', async t => {
  const world = await startOnDisk(t, { quotaBytes: 2 * mebibyte })
  const lease = await world.request('POST', leases, leaseOf('holder', 'a'))
  assert.equal(lease.code, 201)
  const held = await world.request('POST', configMaps, configMapOf('held', 1, ['example.com/hold']))
  assert.equal(held.code, 201)
  const { count, answer } = await world.fill(100 * kibibyte)
  checkSpaceExceeded(answer)
  await world.checkRaised('nospace', 'NOSPACE')
  assert.deepEqual(world.errors, ['Store alarm raised NOSPACE'])
  assert.match((await world.events()).join(), /Warning StoreNoSpace the store has reached its quota/)

  const renewed = leaseOf('holder', 'b', part(lease.body, 'metadata')['resourceVersion'])
  assert.equal((await world.request('PUT', `${leases}/holder`, renewed)).code, 200)
  checkSpaceExceeded(await world.request('PUT', `${configMaps}/held`, configMapOf('held', 200 * kibibyte)))
  // A deletion in steps: the timestamp, then the removal of the finalizer.
  assert.equal((await world.request('DELETE', `${configMaps}/held`)).code, 200)
  const released = await world.request(
    'PATCH',
    `${configMaps}/held`,
    { metadata: { finalizers: null } },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.equal(released.code, 200)
  assert.equal((await world.request('GET', `${configMaps}/held`)).code, 404)

  for (let number = 0; number < count / 2; number++) {
    assert.equal((await world.request('DELETE', `${configMaps}/filler-${number}`)).code, 200)
  }
  await world.simulation.advance(10 * minuteMs)
  await world.checkCleared('nospace', 'NOSPACE')
  assert.equal((await world.request('POST', configMaps, configMapOf('again', 100 * kibibyte))).code, 201)
})

test('an API server starts on a store at its quota', async t => {
  const first = await startOnDisk(t, { quotaBytes: mebibyte })
  const { answer } = await first.fill(50 * kibibyte)
  checkSpaceExceeded(answer)
  await first.stop()
  const second = await startOnDisk(t, { quotaBytes: mebibyte, world: first })
  checkSpaceExceeded(await second.request('POST', configMaps, configMapOf('more', 50 * kibibyte)))
  assert.equal((await second.request('DELETE', `${configMaps}/filler-0`)).code, 200)
})

test('a full disk is logged and fails readyz, and objects can be deleted, until there is space', async t => {
  const world = await startOnDisk(t)
  await world.simulation.advance(minuteMs)
  world.host.disk.setFaults({ capacityBytes: world.host.disk.usedBytes + mebibyte })
  const { answer } = await world.fill(300 * kibibyte)
  checkSpaceExceeded(answer)
  await world.checkRaised('nospace', 'NOSPACE')
  assert.deepEqual(world.errors, ['Store alarm raised NOSPACE'])
  assert.equal((await world.request('DELETE', `${configMaps}/filler-0`)).code, 200)
  assert.match((await world.events()).join(), /Warning StoreNoSpace the disk of the store is full/)
  world.host.disk.setFaults({ capacityBytes: world.host.disk.usedBytes + 50 * mebibyte })
  await world.simulation.advance(minuteMs)
  await world.checkCleared('nospace', 'NOSPACE')
  assert.equal((await world.request('POST', configMaps, configMapOf('again', 300 * kibibyte))).code, 201)
})

test('a damaged value fails the reads that need it with 500, and no others', async t => {
  const world = await startOnDisk(t, { cacheBytesMax: 0, segmentBytesMax: 64 * kibibyte })
  const victim = await world.request('POST', configMaps, configMapOf('victim', 'unharmed'.repeat(100)))
  await world.request('PUT', `${configMaps}/victim`, configMapOf('victim', 10))
  await world.request('POST', configMaps, configMapOf('large', 100 * kibibyte))
  await world.request('POST', configMaps, configMapOf('next-segment', 10))
  world.damage('unharmed')
  const version = String(part(victim.body, 'metadata')['resourceVersion'])
  const exact = await world.request(
    'GET',
    `${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`,
  )
  assert.deepEqual([exact.code, exact.body.reason], [500, 'InternalError'])
  assert.match(exact.body.message!, /the value of \/registry\/configmaps\/default\/victim .* is damaged/)
  assert.equal((await world.request('GET', configMaps)).code, 200)
  assert.equal((await world.request('GET', `${configMaps}/victim`)).code, 200)
  assert.equal((await world.request('POST', configMaps, configMapOf('other', 10))).code, 201)
  await world.checkRaised('corrupt', 'CORRUPT')
  assert.match((await world.events()).join(), /Warning StoreCorrupt 0+\d+\.log at byte \d+: the value of/)
})

test('a sealed segment that rots is found by the scrubber', async t => {
  const world = await startOnDisk(t, { segmentBytesMax: 64 * kibibyte, scrubMs: 10 * minuteMs })
  for (const name of ['a', 'b', 'c']) {
    await world.request('POST', configMaps, configMapOf(name, 'unharmed'.repeat(10 * kibibyte)))
  }
  await world.simulation.advance(25 * minuteMs)
  await world.checkCleared('corrupt', 'CORRUPT')
  world.damage('unharmed')
  await world.simulation.advance(15 * minuteMs)
  await world.checkRaised('corrupt', 'CORRUPT')
})

test('a sync that takes long is logged, measured, and fails readyz while it hangs', async t => {
  const slowSyncs: number[] = []
  const world = await startOnDisk(t, { onSlowSync: tookMs => void slowSyncs.push(tookMs) })
  await world.simulation.advance(minuteMs)
  world.host.disk.setFaults({ stallRate: 1, stallMs: 30_000 })
  const creating = world.send('POST', configMaps, configMapOf('slow', 10))
  await world.simulation.advance(5_000)
  await world.checkCleared('stall', 'STALL')
  assert.deepEqual(world.warnings, ['fdatasync has not returned'])
  await world.simulation.advance(10_000)
  await world.checkRaised('stall', 'STALL')
  world.host.disk.setFaults({ stallRate: 0 })
  assert.equal((await world.simulation.run(creating)).code, 201)
  await world.checkCleared('stall', 'STALL')
  assert.ok(world.warnings.includes('slow fdatasync'))
  assert.ok(slowSyncs.length === 1 && slowSyncs[0]! >= 30_000, slowSyncs.join())
  const { text } = await world.request('GET', '/metrics')
  assert.match(text, /etcd_disk_wal_fsync_duration_seconds_bucket\{le="8\.192"\} \d+/)
  const [, atMost8, all] =
    /bucket\{le="8\.192"\} (\d+)[^]*etcd_disk_wal_fsync_duration_seconds_count (\d+)/.exec(text) ?? []
  assert.equal(Number(all) - Number(atMost8), 1)
})

interface DiskWorld {
  readonly simulation: Simulation
  readonly host: SimulatedHost
  readonly request: TestServer['request']
  /** Like `request`, but the caller lets time pass. */
  readonly send: TestServer['request']
  /** Messages of the log. */
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
  /** Creates ConfigMaps until one is rejected. */
  readonly fill: (sizeBytes: number) => Promise<{ readonly count: number; readonly answer: Answer }>
  readonly events: () => Promise<readonly string[]>
  /** Changes a byte of the first sealed segment with this text. */
  readonly damage: (text: string) => void
  readonly checkRaised: (check: string, type: string) => Promise<void>
  readonly checkCleared: (check: string, type: string) => Promise<void>
  readonly stop: () => Promise<void>
}

interface DiskWorldOptions extends Omit<EmbeddedStoreOptions, 'platform' | 'folder'> {
  /** A stopped server whose disk is used. */
  readonly world?: DiskWorld
}

async function startOnDisk(t: TestContext, { world, ...options }: DiskWorldOptions = {}): Promise<DiskWorld> {
  const simulation = world?.simulation ?? new Simulation({ seed: 1 })
  const host = world?.host ?? simulation.host('control-plane')
  const errors: string[] = []
  const warnings: string[] = []
  const platform = loggedPlatform(host, { errors, warnings })
  const metrics = new Metrics()
  const opening = EmbeddedStore.open({
    platform,
    folder: '/store',
    onSync: metrics.store.observeSync,
    ...options,
  })
  const store = await simulation.run(opening)
  metrics.store.readSpace(store.space)
  metrics.store.readAlarms(store.alarms)
  const health = new Health(platform)
  for (const check of storeAlarmChecks(store.alarms)) health.add(check)
  const cleanup: (() => unknown)[] = []
  const later = { after: (work: () => unknown) => void cleanup.push(work) } as TestContext
  const observe = observability({ health, metrics })
  const server = await simulation.run(
    startTestServer(later, platform, { store, metrics, observability: observe }),
  )
  let isStopped = false
  const stop = async (): Promise<void> => {
    if (isStopped) return
    isStopped = true
    for (const work of cleanup) await simulation.run(Promise.resolve(work()))
  }
  t.after(stop)
  const request: TestServer['request'] = (...given) => simulation.run(server.request(...given))
  const check = async (name: string, type: string, isRaised: boolean): Promise<void> => {
    const ready = await request('GET', '/readyz?verbose')
    const line = `${isRaised ? '[-]' : '[+]'}etcd-alarm/${name} ${isRaised ? 'failed' : 'ok'}`
    assert.ok(ready.text.includes(line), ready.text)
    assert.equal(ready.code, isRaised ? 500 : 200)
    assert.equal((await request('GET', '/livez')).code, 200)
    const { text } = await request('GET', '/metrics')
    assert.ok(text.includes(`k8ts_store_alarm{type="${type}"} ${isRaised ? 1 : 0}\n`))
  }
  return {
    simulation,
    host,
    request,
    send: server.request,
    errors,
    warnings,
    stop,
    fill: async sizeBytes => {
      for (let count = 0; ; count++) {
        const answer = await request('POST', configMaps, configMapOf(`filler-${count}`, sizeBytes))
        if (answer.code !== 201) return { count, answer }
      }
    },
    events: async () => {
      await simulation.advance(1_000)
      const { body } = await request('GET', '/api/v1/namespaces/default/events')
      const items = part(body, 'items') as unknown as readonly Readonly<Record<string, string>>[]
      return items.map(({ type, reason, message }) => `${type} ${reason} ${message}`)
    },
    damage: text => {
      const path = firstWith(host, text)
      const content = Buffer.from(host.disk.durableContent(path))
      content[content.indexOf(text)]! ^= 1
      host.disk.damage(path, { replaceBy: content })
    },
    checkRaised: (name, type) => check(name, type, true),
    checkCleared: (name, type) => check(name, type, false),
  }
}

function firstWith(host: SimulatedHost, text: string): string {
  for (let number = 1; ; number++) {
    const path = `/store/${String(number).padStart(8, '0')}.log`
    if (Buffer.from(host.disk.durableContent(path)).includes(text)) return path
  }
}

function checkSpaceExceeded({ code, body }: Answer): void {
  assert.deepEqual(body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'etcdserver: mvcc: database space exceeded',
    code: 500,
  })
  assert.equal(code, 500)
}

function loggedPlatform(
  host: SimulatedHost,
  { errors, warnings }: { readonly errors: string[]; readonly warnings: string[] },
): Platform {
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: message => void (/fdatasync/.test(message) && warnings.push(message)),
    error: (message, fields: LogFields = {}) => void errors.push(`${message} ${String(fields['alarm'])}`),
    with: () => log,
  }
  const { clock, random, network, files, processes } = host
  return { clock, random, network, files, processes, log }
}

function configMapOf(name: string, data: number | string, finalizers: readonly string[] = []): object {
  const text = typeof data === 'string' ? data : 'x'.repeat(data)
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, ...(finalizers.length > 0 && { finalizers }) },
    data: { text },
  }
}

function leaseOf(name: string, holderIdentity: string, resourceVersion?: unknown): object {
  return {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: { name, ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: { holderIdentity },
  }
}
