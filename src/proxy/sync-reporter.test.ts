import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { SyncReporter } from './sync-reporter.ts'

interface World extends TestControlPlane {
  readonly reporter: SyncReporter
  /** Reasons and messages of the Events of the node, in their order. */
  readonly recorded: () => Promise<readonly string[]>
}

async function start(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  const { platform, clientAs } = plane
  const reporter = new SyncReporter({ platform, client: clientAs('system:kube-proxy', []), nodeName: 'n1' })
  const node = await plane.create(nodes, { metadata: { name: 'n1' } })
  reporter.setNode(node)
  const stopping = new AbortController()
  const running = reporter.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await plane.run(running)
  })
  const recorded = async (): Promise<readonly string[]> => {
    await plane.settle()
    const { items } = await plane.run(plane.client.list(events))
    const own = items.filter(({ involvedObject }) => involvedObject.name === 'n1')
    return own.map(({ reason, message }) => `${reason}: ${message}`)
  }
  return { ...plane, reporter, recorded }
}

test('a failure is in the status at once, and an Event when it repeats; its end is reported, too', async t => {
  const { reporter, recorded } = await start(t)
  reporter.failed(new Error('iptables-restore: no lock'), 'iptables')
  assert.deepEqual(reporter.status, { failure: 'iptables-restore: no lock' })
  reporter.succeeded()
  assert.deepEqual([reporter.status, await recorded()], [{}, []])
  for (let times = 0; times < 3; times++) reporter.failed(new Error('iptables-restore: no lock'), 'iptables')
  const failed =
    'FailedToSyncServices: Failed to write the iptables rules of services, their changes have no effect on this ' +
    'node: iptables-restore: no lock. Check that `iptables-save` works on the node, or choose --proxy-mode nftables'
  assert.deepEqual(await recorded(), [failed])
  reporter.succeeded()
  const synced = 'ServicesSynced: The rules of all services are written again'
  assert.deepEqual(new Set(await recorded()), new Set([failed, synced]))
})

test('a long error is shortened', async t => {
  const { reporter } = await start(t)
  reporter.failed(new Error('x'.repeat(100_000)), 'nftables')
  assert.equal(reporter.status.failure?.length, 600)
})
