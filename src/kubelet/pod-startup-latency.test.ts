import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec, PodStatus } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import { Simulation } from '#/platform/simulated.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { PodStartupLatency } from './pod-startup-latency.ts'
import { kubeletPod } from './testdata/objects.ts'

/** A pod created now, and its start twenty seconds later, after pulls from 2 to 8 and from 5 to 11 seconds. */
async function startOf(spec: Partial<PodSpec>, status: PodStatus = {}): Promise<string> {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('node')
  const metrics = new KubeletMetrics()
  const latency = new PodStartupLatency(clock, metrics.pods)
  const creationTimestamp = formatTime(clock.now())
  const podOf = (now: PodStatus): KubeletPod =>
    kubeletPod({ metadata: { creationTimestamp }, spec: { containers: [], ...spec }, status: now })
  const createdMs = Date.parse(creationTimestamp)
  const at = (seconds: number): string => formatTime(createdMs + seconds * 1_000)
  latency.begin(podOf(status))
  const pull = async (fromMs: number): Promise<void> => {
    await clock.sleep(fromMs)
    await latency.pull('u-1', () => clock.sleep(6_000))
  }
  const pulls = Promise.all([pull(2_000), pull(5_000)])
  await simulation.advance(createdMs + 20_000 - clock.now())
  await pulls
  const container = { name: 'web', image: 'i', imageID: '', ready: true, restartCount: 0 }
  latency.observe(podOf({ containerStatuses: [{ ...container, state: { waiting: {} } }] }))
  const started: PodStatus = {
    containerStatuses: [{ ...container, state: { running: { startedAt: at(19) } } }],
    initContainerStatuses: [
      {
        ...container,
        name: 'init',
        state: { terminated: { exitCode: 0, startedAt: at(12), finishedAt: at(15) } },
      },
    ],
  }
  latency.observe(podOf(started))
  latency.observe(podOf(started))
  const { startTotalDuration, startSliDuration, firstNetworkPodStart } = metrics.pods
  const count = (series: typeof startSliDuration): number =>
    series.counts.reduce((sum, each) => sum + each, 0)
  const shown = [startTotalDuration, startSliDuration].map(
    series => `${count(series)}:${Math.round(series.sum)}`,
  )
  return [...shown, Math.round(firstNetworkPodStart.with().value)].join(' ')
}

test('the start of a pod is measured once, without pulls and init containers for the indicator', async () => {
  assert.equal(await startOf({}), '1:20 1:8 8')
  assert.equal(await startOf({ hostNetwork: true }), '1:20 1:8 0')
  assert.equal(await startOf({ volumes: [{ name: 'a', emptyDir: {} }] }), '1:20 1:8 8')
})

test('pods with state are not in the indicator', async () => {
  assert.equal(await startOf({ volumes: [{ name: 'a', hostPath: { path: '/' } }] }), '1:20 0:0 0')
})

test('pods of an earlier kubelet and pods that waited for a node are not measured', async () => {
  assert.equal(await startOf({}, { startTime: '2026-01-01T00:00:00Z' }), '0:0 0:0 0')
  const conditions = [{ type: 'PodScheduled', status: 'False' }]
  assert.equal(await startOf({}, { conditions }), '0:0 0:0 0')
})
