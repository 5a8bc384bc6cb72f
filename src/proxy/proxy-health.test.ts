import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { ProxyHealth } from './proxy-health.ts'

test('the proxy is unhealthy while a change waits for more than a minute', async () => {
  const simulation = new Simulation({ seed: 1 })
  const health = new ProxyHealth(simulation.host('node').clock, [4, 6])
  const see = (): string => `${health.livez().isHealthy} ${health.healthz().isHealthy}`
  health.queued()
  await simulation.advance(61_000)
  assert.equal(see(), 'true false', 'it is starting, and does not know its node')
  health.updated()
  health.setNode({ metadata: { name: 'n1' } })
  assert.equal(see(), 'true true')
  await simulation.advance(3_600_000)
  assert.equal(see(), 'true true', 'nothing changes')
  health.queued()
  await simulation.advance(59_000)
  health.queued()
  assert.equal(see(), 'true true')
  await simulation.advance(1_000)
  assert.equal(see(), 'false false')
  const { status, healthy, nodeEligible } = JSON.parse(health.healthz().text) as Record<string, unknown>
  assert.deepEqual([healthy, nodeEligible, Object.keys(status as object)], [false, true, ['IPv4', 'IPv6']])
  health.updated()
  assert.equal(see(), 'true true')
})

test('the proxy is unhealthy when the first rules cannot be written', async () => {
  const simulation = new Simulation({ seed: 1 })
  const health = new ProxyHealth(simulation.host('node').clock, [4])
  health.queued()
  health.failed()
  assert(health.livez().isHealthy)
  await simulation.advance(61_000)
  assert(!health.livez().isHealthy)
  health.updated()
  assert(health.livez().isHealthy)
})

test('a node that is being deleted is alive, but takes no new traffic', () => {
  const health = new ProxyHealth(new Simulation({ seed: 1 }).host('node').clock, [4])
  const metadata = { name: 'n1' }
  for (const [node, expected] of [
    [undefined, false],
    [{ metadata }, true],
    [{ metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }, false],
    [{ metadata, spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, true],
    [
      { metadata, spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] } },
      false,
    ],
  ] as const) {
    health.setNode(node)
    assert.equal(health.healthz().isHealthy, expected)
    assert.equal(health.livez().isHealthy, true)
  }
})
