import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { HealthCheck } from '#/component-base/health-checks.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { ComponentProcess } from './component-process.ts'

const lease = { namespace: 'kube-system', name: 'kube-scheduler' }
const timings = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

test('one replica is elected; when it is stopped it releases the lease and the other one is elected', async t => {
  const plane = await startTestControlPlane(t, [])
  const replicas = [replica(t, plane), replica(t, plane)]
  await plane.advance(10_000)
  const first = replicas.find(({ isElected }) => isElected())
  assert.ok(first)
  const second = replicas.find(each => each !== first)!
  assert.ok(second.isRunning(), 'a standby fills its caches')
  assert.ok(!second.isElected())
  first.stop()
  await plane.run(first.ended)
  assert.equal((await plane.run(plane.client.get(leases, lease))).spec?.holderIdentity, '')
  await plane.advance(5_000)
  assert.ok(second.isElected())
})

test('a replica that loses the lease rejects and stops its component', async t => {
  const plane = await startTestControlPlane(t, [])
  const only = replica(t, plane)
  await plane.advance(5_000)
  assert.ok(only.isElected())
  assert.deepEqual(
    only.checks.map(({ name, check }) => [name, check()]),
    [['leaderElection', undefined]],
  )
  const held = await plane.run(plane.client.get(leases, lease))
  const stolen = { ...held, spec: { ...held.spec, holderIdentity: 'other' } }
  await plane.run(plane.client.update(leases, stolen))
  await plane.advance(5_000)
  await assert.rejects(
    plane.run(only.ended),
    /^Error: leader election lost: lease kube-system\/kube-scheduler: lease is held by another candidate$/,
  )
  assert.ok(!only.isRunning())
})

test('without leader election the component acts at once', async t => {
  const plane = await startTestControlPlane(t, [])
  const only = replica(t, plane, { isElecting: false })
  await plane.advance(1)
  assert.ok(only.isElected())
  assert.deepEqual(only.checks, [])
  only.stop()
  await plane.run(only.ended)
  assert.ok(!only.isRunning())
})

function replica(t: TestContext, plane: TestControlPlane, { isElecting = true } = {}) {
  const { platform, client } = plane
  const stopping = new AbortController()
  let given: readonly HealthCheck[] = []
  let isElected = false
  let isRunning = false
  const process = new ComponentProcess({
    platform,
    machine: {
      crypto: globalThis.crypto,
      names: ['host-1'],
      usage: () => assert.fail('nothing is served'),
      serveHttp: () => assert.fail('nothing is served'),
    },
    name: 'kube-scheduler',
    serving: undefined,
    election: isElecting ? { lease, timings } : undefined,
    client,
    authenticationClient: undefined,
    authorizationClient: undefined,
    component: checks => {
      given = checks
      return {
        part: { metrics: new MetricsRegistry(), health: {} },
        run: async (signal, elected) => {
          isRunning = true
          void elected.then(() => (isElected = true))
          await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
          isRunning = false
        },
      }
    },
  })
  const ended = process.run(stopping.signal)
  ended.catch(() => undefined)
  t.after(() => stopping.abort())
  const stop = (): void => stopping.abort()
  return { ended, stop, isElected: () => isElected, isRunning: () => isRunning, checks: given }
}
