/** The metrics of controllers after real work. Values are asserted for the series named; others may exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicaSets, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import { cronJobs, jobs } from '#/api/generated/batch/v1-resources.ts'
import {
  endpoints,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
} from '#/api/generated/core/v1-resources.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { cronJobController } from './cron-job.ts'
import { endpointSliceMirroringController } from './endpoint-slice-mirroring.ts'
import { endpointSliceController } from './endpoint-slice.ts'
import { ephemeralVolumeController } from './ephemeral-volume.ts'
import { jobController } from './job.ts'
import { activePods, finishPod, jobOf } from './job/test-job-pods.ts'
import { nodeIpamController } from './node-ipam.ts'
import { nodeLifecycleController } from './node-lifecycle.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { podGarbageCollectorController } from './pod-garbage-collector.ts'
import { replicaSetController } from './replica-set.ts'
import { rootCaPublisherController } from './root-ca-publisher.ts'
import { statefulSetController } from './stateful-set.ts'
import { taintEvictionController } from './taint-eviction.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runAllPods, runningPod } from './test-pods.ts'
import { claimOf, classOf, volumeOf } from './test-storage.ts'
import { ttlAfterFinishedController } from './ttl-after-finished.ts'

const namespace = 'default'

test('jobs count syncs, pods, finished jobs and their deletion', async t => {
  const plane = await startTestControlPlane(t, [jobController, ttlAfterFinishedController])
  const spec = { completions: 1, backoffLimit: 3, ttlSecondsAfterFinished: 10 }
  await plane.create(jobs, jobOf(spec))
  await finishPod(plane, (await activePods(plane))[0]!, { code: 1 })
  await plane.advance(60_000)
  await finishPod(plane, (await activePods(plane))[0]!, { code: 0 })
  await plane.advance(20_000)
  const expect = expecting(plane)
  const mode = 'completion_mode="NonIndexed"'
  expect(`job_controller_job_pods_finished_total{${mode},result="failed"}`, 1)
  expect(`job_controller_job_pods_finished_total{${mode},result="succeeded"}`, 1)
  expect(`job_controller_jobs_finished_total{${mode},reason="CompletionsReached",result="succeeded"}`, 1)
  expect('job_controller_job_pods_creation_total{reason="new",status="succeeded"}', 1)
  expect(
    'job_controller_job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"}',
    1,
  )
  expect(`job_controller_job_syncs_total{action="pods_created",${mode},result="success"}`, 2)
  expect('job_controller_terminated_pods_tracking_finalizer_total{event="add"}', 2)
  expect('job_controller_terminated_pods_tracking_finalizer_total{event="delete"}', 2)
  expect('ttl_after_finished_controller_job_deletion_duration_seconds_count', 1)
  expect('workqueue_depth{name="job"}', 0)
  expect('running_managed_controllers{manager="kube-controller-manager",name="job-controller"}', 1)
})

test('indexed jobs count indexes, and cron jobs the delay of their jobs', async t => {
  const plane = await startTestControlPlane(t, [jobController, cronJobController])
  await plane.create(jobs, jobOf({ completions: 2, parallelism: 2, completionMode: 'Indexed' }))
  for (const pod of await activePods(plane)) await finishPod(plane, pod, { code: 0 })
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } }
  const spec = { schedule: '* * * * *', jobTemplate: { spec: { template } } }
  await plane.create(cronJobs, { metadata: { namespace, name: 'cron' }, spec })
  await plane.advance(65_000)
  const expect = expecting(plane)
  expect('job_controller_job_finished_indexes_total{backoffLimit="global",status="succeeded"}', 2)
  expect('cronjob_controller_job_creation_skew_duration_seconds_bucket{le="1"}', 1)
})

test('endpoint slices are counted with their endpoints and changes', async t => {
  const plane = await startTestControlPlane(t, [endpointSliceController()])
  await plane.create(nodes, { metadata: { name: 'n1' } })
  const ports = [{ name: 'http', port: 80 }]
  await plane.create(services, {
    metadata: { namespace, name: 'web' },
    spec: { selector: { app: 'web' }, ports },
  })
  for (const index of [1, 2]) {
    const containers = [{ name: 'web', image: 'web' }]
    const metadata = { namespace, name: `pod-${index}`, labels: { app: 'web' } }
    await plane.create(pods, { metadata, spec: { nodeName: 'n1', containers } })
    await plane.changeStatus(pods, `${namespace}/pod-${index}`, pod => {
      const running = runningPod(pod, plane.platform.clock.now())
      return {
        ...running,
        status: { ...running.status, podIP: `10.0.0.${index}`, podIPs: [{ ip: `10.0.0.${index}` }] },
      }
    })
  }
  const expect = expecting(plane)
  expect('endpoint_slice_controller_endpoints_desired', 2)
  expect('endpoint_slice_controller_num_endpoint_slices', 1)
  expect('endpoint_slice_controller_desired_endpoint_slices', 1)
  expect('endpoint_slice_controller_changes{operation="create"}', 1)
  expect('endpoint_slice_controller_endpoints_added_per_sync_sum', 2)
  await plane.run(plane.client.delete(services, { namespace, name: 'web' }))
  await plane.settle()
  expecting(plane)('endpoint_slice_controller_endpoints_desired', 0)
})

test('mirrored endpoints are counted', async t => {
  const plane = await startTestControlPlane(t, [endpointSliceMirroringController])
  const ports = [{ name: 'http', port: 80 }]
  await plane.create(services, { metadata: { namespace, name: 'custom' }, spec: { ports } })
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }], ports }]
  await plane.create(endpoints, { metadata: { namespace, name: 'custom' }, subsets })
  const expect = expecting(plane)
  expect('endpoint_slice_mirroring_controller_endpoints_desired', 2)
  expect('endpoint_slice_mirroring_controller_changes{operation="create"}', 1)
  expect('endpoint_slice_mirroring_controller_endpoints_added_per_sync_sum', 2)
})

test('nodes are counted by zone, and lost ones with the pods evicted from them', async t => {
  const plane = await startTestControlPlane(t, [
    nodeLifecycleController(),
    taintEvictionController,
    nodeIpamController({ clusterCidrs: ['10.244.0.0/22'] }),
    rootCaPublisherController({ caCertificate: 'pem' }),
  ])
  const beat = (name: string): Promise<unknown> =>
    plane.changeStatus(nodes, name, node => {
      const time = new Date(plane.platform.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
      const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: time, lastTransitionTime: time }
      return { ...node, status: { ...node.status, conditions: [ready] } }
    })
  for (const name of ['n1', 'n2']) {
    await plane.create(nodes, { metadata: { name } })
    await beat(name)
  }
  const containers = [{ name: 'web', image: 'web' }]
  await plane.create(pods, { metadata: { namespace, name: 'web' }, spec: { nodeName: 'n1', containers } })
  for (let turn = 0; turn < 12; turn++) {
    await plane.advance(10_000)
    await beat('n2')
  }
  const expect = expecting(plane)
  expect('node_collector_zone_size{zone=""}', 2)
  expect('node_collector_unhealthy_nodes_in_zone{zone=""}', 1)
  expect('node_collector_zone_health{zone=""}', 50)
  expect('node_collector_evictions_total{zone=""}', 1)
  expect('taint_eviction_controller_pod_deletions_total', 1)
  expect('taint_eviction_controller_pod_deletion_duration_seconds_count', 1)
  expect('node_ipam_controller_cirdset_max_cidrs{clusterCIDR="10.244.0.0/22"}', 4)
  expect('node_ipam_controller_cidrset_usage_cidrs{clusterCIDR="10.244.0.0/22"}', 0.5)
  expect('node_ipam_controller_cidrset_cidrs_allocations_total{clusterCIDR="10.244.0.0/22"}', 2)
  expect('root_ca_cert_publisher_sync_total{code="200"}', 8)
})

test('volumes and claims are counted, and claims that get a storage class later', async t => {
  const plane = await startTestControlPlane(t, [
    persistentVolumeBinderController({}),
    ephemeralVolumeController,
  ])
  await plane.create(persistentVolumes, volumeOf('v1'))
  await plane.create(persistentVolumeClaims, claimOf('bound'))
  const classless = claimOf('classless', '5Gi')
  await plane.create(persistentVolumeClaims, classless)
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  const made = classOf('late')
  await plane.create(storageClasses, { ...made, metadata: { ...made.metadata, annotations } })
  const ephemeral = { volumeClaimTemplate: { spec: classless.spec! } }
  await plane.create(pods, {
    metadata: { namespace, name: 'web' },
    spec: { containers: [{ name: 'a', image: 'a' }], volumes: [{ name: 'data', ephemeral }] },
  })
  const text = plane.metrics.render()
  assert.match(text, /^pv_collector_bound_pv_count\{storage_class=".*"\} 1$/m)
  assert.match(
    text,
    /^pv_collector_total_pv_count\{plugin_name="kubernetes.io\/.*",volume_mode="Filesystem"\} 1$/m,
  )
  assert.match(text, /^pv_collector_bound_pvc_count\{namespace="default",.*\} 1$/m)
  assert.match(text, /^pv_collector_unbound_pvc_count\{namespace="default",storage_class="late",.*\} \d$/m)
  assert.match(text, /^retroactive_storageclass_total [12]$/m)
  const expect = expecting(plane)
  expect('ephemeral_volume_controller_create_total', 1)
  expect('ephemeral_volume_controller_create_failures_total', 0)
})

test('scaled down and orphaned pods are measured', async t => {
  const plane = await startTestControlPlane(t, [
    replicaSetController,
    statefulSetController,
    podGarbageCollectorController(),
  ])
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  await plane.create(replicaSets, { metadata: { namespace, name: 'web' }, spec })
  await plane.advance(30_000)
  await plane.change(replicaSets, `${namespace}/web`, set => ({ ...set, spec: { ...spec, replicas: 2 } }))
  await runAllPods(plane)
  await plane.advance(10_000)
  await plane.change(replicaSets, `${namespace}/web`, set => ({ ...set, spec: { ...spec, replicas: 1 } }))
  const stateful = { replicas: 3, selector: { matchLabels: { app: 'db' } }, serviceName: 'db' }
  await plane.create(statefulSets, {
    metadata: { namespace, name: 'db' },
    spec: { ...stateful, template: { ...template, metadata: { labels: { app: 'db' } } } },
  })
  await plane.create(pods, {
    metadata: { namespace, name: 'lost' },
    spec: { ...template.spec, nodeName: 'gone' },
  })
  await plane.advance(120_000)
  const expect = expecting(plane)
  expect('replicaset_controller_sorting_deletion_age_ratio_count', 1)
  expect('pod_gc_collector_force_delete_pods_total{namespace="default",reason="orphaned"}', 1)
  const set = 'pod_management_policy="OrderedReady",statefulset_name="db",statefulset_namespace="default"'
  expect(`statefulset_controller_statefulset_unavailable_replicas{${set}}`, 3)
  expect(`statefulset_controller_statefulset_max_unavailable{${set}}`, 1)
})

function expecting({ metrics }: TestControlPlane): (series: string, value: number) => void {
  const lines = metrics.render().split('\n')
  return (series, value) => {
    const [name = ''] = series.split('{')
    const family = lines.filter(line => line.startsWith(name))
    assert.ok(family.includes(`${series} ${value}`), `${series} ${value} in\n${family.join('\n')}`)
  }
}
