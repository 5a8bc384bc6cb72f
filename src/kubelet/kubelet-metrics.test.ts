import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageSizeLabel } from './kubelet-metrics.ts'
import { TestKubelet } from './test-kubelet.ts'

const container = { name: 'web', image: 'i', imagePullPolicy: 'IfNotPresent' }

const missingImage = 'present_locally="false",pull_policy="ifnotpresent",pull_required="true"'

/** Values by series, without buckets. */
function seriesOf(node: TestKubelet): ReadonlyMap<string, number> {
  const lines = node.kubelet.metrics.registry.render().split('\n')
  return new Map(
    lines
      .filter(line => line !== '' && !line.startsWith('#') && !line.includes('_bucket'))
      .map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

function check(node: TestKubelet, expected: Readonly<Record<string, number>>): void {
  const series = seriesOf(node)
  const actual = Object.fromEntries(Object.keys(expected).map(name => [name, series.get(name)]))
  assert.deepEqual(actual, expected)
}

test('the start of a pod is counted and measured', async t => {
  const node = await TestKubelet.start(t, { images: { i: { pullMs: 4_000, sizeBytes: 20 * 1024 ** 2 } } })
  await node.create('p', { containers: [container] })
  await node.advance(10)
  check(node, {
    'kubelet_node_name{node="n1"}': 1,
    'kubelet_running_pods': 1,
    'kubelet_running_containers{container_state="running"}': 1,
    'kubelet_desired_pods{static=""}': 1,
    'kubelet_desired_pods{static="true"}': 0,
    'kubelet_active_pods{static=""}': 1,
    'kubelet_working_pods{config="desired",lifecycle="sync",static=""}': 1,
    'kubelet_started_pods_total': 1,
    'kubelet_started_pods_errors_total': 0,
    'kubelet_started_containers_total{container_type="container"}': 1,
    'kubelet_pod_worker_duration_seconds_count{operation_type="create"}': 1,
    'kubelet_pod_worker_start_duration_seconds_count': 1,
    'kubelet_pod_start_duration_seconds_count': 1,
    'kubelet_pod_start_sli_duration_seconds_count': 1,
    'kubelet_pod_start_total_duration_seconds_count': 1,
    'kubelet_containers_per_pod_count_sum': 1,
    'kubelet_image_pull_duration_seconds_count{image_size_in_bytes="10MB-100MB"}': 1,
    [`kubelet_image_manager_ensure_image_requests_total{${missingImage}}`]: 1,
    'kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""}': 1,
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"}': 1,
    'kubelet_runtime_operations_total{operation_type="start_container"}': 1,
    'kubelet_runtime_operations_duration_seconds_count{operation_type="pull_image"}': 1,
  })
  const series = seriesOf(node)
  const [total, sli] = ['total', 'sli'].map(kind =>
    series.get(`kubelet_pod_start_${kind}_duration_seconds_sum`)!,
  )
  assert.ok(total! >= 4 && sli! < total! - 3.9, `the pull is in ${total} and not in ${sli}`)
  assert.ok(series.get('kubelet_pleg_relist_duration_seconds_count')! > 0)
  assert.ok(series.get('kubelet_pod_status_sync_duration_seconds_count')! > 0)
  assert.ok(series.get('kubelet_pleg_last_seen_seconds')! > 0)
  assert.ok(series.get('kubelet_node_startup_registration_duration_seconds') !== undefined)
})

test('the end of a pod is counted', async t => {
  const node = await TestKubelet.start(t, { images: { i: { isPresent: true } } })
  await node.create('p', { containers: [container] })
  await node.delete('p')
  await node.advance(40)
  assert.equal(await node.see('p'), 'gone')
  check(node, {
    'kubelet_running_pods': 0,
    'kubelet_running_containers{container_state="running"}': 0,
    'kubelet_desired_pods{static=""}': 0,
    'kubelet_working_pods{config="desired",lifecycle="sync",static=""}': 0,
    'kubelet_runtime_operations_total{operation_type="stop_container"}': 1,
  })
  const series = seriesOf(node)
  assert.ok(series.get('kubelet_pod_worker_duration_seconds_count{operation_type="kill"}')! > 0)
  assert.ok(series.get('kubelet_cgroup_manager_duration_seconds_count{operation_type="destroy"}')! > 0)
})

test('failures and rejections are counted with their reason', async t => {
  const node = await TestKubelet.start(t, { images: { i: { pullError: 'no such image' } } })
  await node.create('p', { containers: [container] })
  await node.create('q', { containers: [{ ...container, resources: { requests: { cpu: '1000' } } }] })
  await node.advance(1)
  const series = seriesOf(node)
  const errors = 'kubelet_started_containers_errors_total{code="ErrImagePull",container_type="container"}'
  assert.ok(series.get(errors)! > 0, [...series.keys()].join('\n'))
  assert.equal(series.get('kubelet_admission_rejections_total{reason="OutOfcpu"}'), 1)
  assert.ok(series.get('kubelet_runtime_operations_errors_total{operation_type="pull_image"}')! > 0)
})

test('probes are counted by result until their container ends', async t => {
  const node = await TestKubelet.start(t, {
    images: { i: { isPresent: true } },
    containers: { web: { execs: { check: { exitCode: 1 } } } },
  })
  const readinessProbe = { exec: { command: ['check'] }, periodSeconds: 2 }
  await node.create('p', { containers: [{ ...container, readinessProbe }] })
  await node.advance(5)
  const uid = (await node.find('p'))?.metadata.uid
  const labels = `container="web",namespace="default",pod="p",pod_uid="${uid}",probe_type="Readiness"`
  const rendered = node.kubelet.metrics.probeRegistry.render()
  assert.match(rendered, new RegExp(`^prober_probe_total\\{${labels},result="failed"\\} [23]$`, 'm'))
  assert.doesNotMatch(rendered, /successful|prober_probe_duration/)
  await node.delete('p', 0)
  await node.advance(5)
  assert.equal(node.kubelet.metrics.probeRegistry.render(), '')
})

test('pulls are counted by the size of the image', () => {
  const mebi = 1024 ** 2
  const cases: readonly (readonly [number, string])[] = [
    [0, 'N/A'],
    [1, '0-10MB'],
    [10 * mebi, '0-10MB'],
    [10 * mebi + 1, '10MB-100MB'],
    [2_000 * mebi, '1GB-5GB'],
    [200_000 * mebi, 'GT100GB'],
  ]
  for (const [bytes, label] of cases) assert.equal(imageSizeLabel(bytes), label)
})
