/** A real API server on the embedded store, on a simulated disk. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { events, namespaces } from '#/api/generated/core/v1-resources.ts'
import { startTestServer } from '#/apiserver/test-server.ts'
import { clientOf } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { administrator, userOf } from '#/kubeadm/identities.ts'
import { Simulation } from '#/platform/simulated.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { embeddedStorePlace } from './open-store.ts'
import { ScheduledSnapshots } from './scheduled-snapshots.ts'

const folder = '/data'
const minuteMs = 60_000

test('a failed snapshot is shown and recorded as an Event until one is taken again', async t => {
  const { simulation, host, client, snapshots } = await start(t)
  const warnings = async (): Promise<string[]> => {
    const { items } = await simulation.run(client.listAll(events, { namespace: 'default' }))
    const ours = items.filter(({ reason }) => reason === 'StoreSnapshotFailed')
    return ours.map(({ type, involvedObject, message }) => `${type} ${involvedObject?.name} ${message}`)
  }
  await simulation.advance(11 * minuteMs)
  assert.deepEqual(snapshots.status, {})
  assert.deepEqual(await warnings(), [])
  // Without a change there would be no snapshot.
  await simulation.run(client.create(namespaces, { metadata: { name: 'added' } }))
  host.disk.failNext('link', 'ENOSPC')
  await simulation.advance(11 * minuteMs)
  assert.match(snapshots.status.snapshotFailure!, /ENOSPC/)
  const [warning, ...others] = await warnings()
  assert.match(warning!, /^Warning kube-system a scheduled snapshot of the store failed: .*ENOSPC/)
  assert.deepEqual(others, [])
  await simulation.advance(6 * minuteMs)
  assert.deepEqual(snapshots.status, {})
})

async function start(t: TestContext) {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('control-plane')
  const { clock, random, network, files, processes, log } = host
  const platform = { clock, random, network, files, processes, log }
  const store = await simulation.run(EmbeddedStore.open({ platform, ...embeddedStorePlace(folder) }))
  const cleanup: (() => unknown)[] = []
  const later = { after: (work: () => unknown) => void cleanup.push(work) }
  const { server } = await simulation.run(startTestServer(later as TestContext, platform, { store }))
  const transport = inProcessTransport({ handle: server.handle, user: userOf(administrator) })
  const client = clientOf({ platform, transport, userAgent: 'test' })
  const snapshots = new ScheduledSnapshots({
    platform,
    client,
    folder,
    intervalMs: 10 * minuteMs,
    retention: 3,
  })
  const stopping = new AbortController()
  const running = snapshots.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await simulation.run(running)
    for (const work of cleanup) await simulation.run(Promise.resolve(work()))
  })
  return { simulation, host, client, snapshots }
}
