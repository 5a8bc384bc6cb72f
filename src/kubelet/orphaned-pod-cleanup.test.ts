import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedRuntime } from '#/cri/simulated.ts'
import { Simulation } from '#/platform/simulated.ts'
import { kubeletConfiguration } from './kubelet-configuration.ts'
import { OrphanedPodCleanup } from './orphaned-pod-cleanup.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'

test('orphaned pod cleanup ends without a further wait when the kubelet stops', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('node')
  const stopping = new AbortController()
  const orphans = new OrphanedPodCleanup({
    metrics: new KubeletMetrics(),
    platform,
    runtime: new SimulatedRuntime({ platform, podCidrs: ['10.244.0.0/24'] }),
    node: kubeletConfiguration({
      name: 'n1',
      addresses: ['192.0.2.1'],
      rootDirectory: '/node',
      cgroupRoot: '/test',
    }),
    volumes: { podsWithVolumes: async () => [], unmount: async () => undefined },
    cgroups: { list: async () => [], remove: async () => undefined },
    known: () => {
      stopping.abort()
      return new Set()
    },
  })
  const beganMs = platform.clock.monotonicMs()
  await simulation.run(orphans.run(stopping.signal))
  assert.ok(stopping.signal.aborted)
  assert.ok(platform.clock.monotonicMs() - beganMs < 1_000)
})
