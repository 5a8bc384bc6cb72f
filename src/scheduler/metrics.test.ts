import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { podResourceMetrics } from './pod-resource-metrics.ts'
import { nodeOf, podOf, startTestCluster } from './test-cluster.ts'

test('metrics count attempts, queues, events and plugins of scheduled and rejected pods', async t => {
  const metrics = new MetricsRegistry()
  const cluster = await startTestCluster(t, { metrics })
  await cluster.addNodes(nodeOf('n1', { cpu: '2' }), nodeOf('n2', { cpu: '2' }))
  await cluster.addPods(podOf('a', { cpu: '1' }), podOf('big', { cpu: '3' }))
  await cluster.addPods(podOf('gated', { schedulingGates: [{ name: 'example.com/wait' }] }))
  const expect = expecting(metrics)
  const profile = 'profile="default-scheduler"'
  expect(`scheduler_schedule_attempts_total{${profile},result="scheduled"}`, 1)
  expect(`scheduler_schedule_attempts_total{${profile},result="unschedulable"}`, 1)
  expect(`scheduler_scheduling_attempt_duration_seconds_count{${profile},result="scheduled"}`, 1)
  expect('scheduler_scheduling_algorithm_duration_seconds_count', 2)
  expect('scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}', 1)
  expect('scheduler_pod_scheduling_attempts_bucket{le="1"}', 1)
  expect('scheduler_pending_pods{queue="active"}', 0)
  expect('scheduler_pending_pods{queue="backoff"}', 0)
  expect('scheduler_pending_pods{queue="gated"}', 1)
  expect('scheduler_pending_pods{queue="unschedulable"}', 1)
  expect(`scheduler_unschedulable_pods{plugin="NodeResourcesFit",${profile}}`, 1)
  expect(`scheduler_unschedulable_pods{plugin="SchedulingGates",${profile}}`, 1)
  expect('scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"}', 2)
  expect('scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="unschedulable"}', 1)
  expect('scheduler_queue_incoming_pods_total{event="ScheduleAttemptFailure",queue="unschedulable"}', 1)
  expect('scheduler_cache_size{type="nodes"}', 2)
  expect('scheduler_cache_size{type="pods"}', 1)
  expect('scheduler_cache_size{type="assumed_pods"}', 0)
  expect('scheduler_inflight_events{event="PodPopped"}', 0)
  expect('scheduler_event_handling_duration_seconds_count{event="NodeAdd"}', 2)
  expect('scheduler_event_handling_duration_seconds_count{event="UnschedulablePodAdd"}', 3)
  expect('scheduler_preemption_attempts_total', 1)
  const filter = `extension_point="Filter",plugin="NodeResourcesFit",${profile}`
  expect(`scheduler_plugin_evaluation_total{${filter}}`, 4)
  for (const [point, count] of [
    ['PreFilter', 2],
    ['Filter', 2],
    ['Score', 1],
    ['Reserve', 1],
    ['Bind', 1],
  ] as const) {
    const labels = `extension_point="${point}",${profile},status="Success"`
    expect(`scheduler_framework_extension_point_duration_seconds_count{${labels}}`, count)
  }
  // The first cycle is sampled, the second is not.
  const sampled = 'extension_point="Filter",plugin="NodeResourcesFit",status="Success"'
  expect(`scheduler_plugin_execution_duration_seconds_count{${sampled}}`, 2)
})

test('an event that helps an unschedulable pod is measured by its queueing hint and requeues it', async t => {
  const metrics = new MetricsRegistry()
  const cluster = await startTestCluster(t, { metrics, backoffMs: { first: 5_000, max: 5_000 } })
  await cluster.addNodes(nodeOf('n1', { cpu: '2' }))
  await cluster.addPods(podOf('big', { cpu: '3' }))
  await cluster.change(nodes, 'n1', node => ({ ...node, metadata: { ...node.metadata, labels: { a: 'b' } } }))
  await cluster.addNodes(nodeOf('n2', { cpu: '4' }))
  await cluster.advance(10_000)
  assert.equal((await cluster.places())['big'], 'n2')
  const expect = expecting(metrics)
  const hint = (event: string, result: string): string => {
    const labels = `event="${event}",hint="${result}",plugin="NodeResourcesFit"`
    return `scheduler_queueing_hint_execution_duration_seconds_count{${labels}}`
  }
  expect(hint('NodeUpdateNodeLabel', 'QueueSkip'), 1)
  expect(hint('NodeAdd', 'Queue'), 1)
  expect('scheduler_queue_incoming_pods_total{event="NodeAdd",queue="backoff"}', 1)
  expect('scheduler_queue_incoming_pods_total{event="BackoffComplete",queue="active"}', 1)
  expect('scheduler_pod_scheduling_attempts_sum', 2)
  expect('scheduler_pod_scheduling_sli_duration_seconds_count{attempts="2"}', 1)
  assert.doesNotMatch(metrics.render(), /scheduler_unschedulable_pods\{/)
})

test('preemptions are counted with their victims', async t => {
  const metrics = new MetricsRegistry()
  const cluster = await startTestCluster(t, { metrics })
  await cluster.addNodes(nodeOf('n1', { cpu: '2' }))
  await cluster.addPods(podOf('a', { cpu: '1' }), podOf('b', { cpu: '1' }))
  await cluster.addPods(podOf('urgent', { cpu: '2', priority: 100 }))
  const expect = expecting(metrics)
  expect('scheduler_preemption_victims_sum', 2)
  expect('scheduler_preemption_victims_count', 1)
  expect('scheduler_preemption_goroutines_execution_total{result="success"}', 1)
  expect('scheduler_preemption_goroutines_duration_seconds_count{result="success"}', 1)
})

test('requests and limits of pods have one series for each resource', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('n1', { others: { 'example.com/gpu': '2' } }))
  await cluster.addPods(
    podOf('a', { cpu: '1500m', priority: 7, others: { 'example.com/gpu': '1' } }),
    podOf('done', { cpu: '1' }),
  )
  await cluster.changeStatus(pods, 'default/done', pod => ({ ...pod, status: { phase: 'Succeeded' } }))
  const { items } = await cluster.run(cluster.client.list(pods))
  const lines = podResourceMetrics(() => items)
    .render()
    .split('\n')
  const labels = (resource: string, unit: string): string => {
    const of = `resource="${resource}",scheduler="default-scheduler",unit="${unit}"`
    return `{namespace="default",node="n1",pod="a",priority="7",${of}}`
  }
  assert.deepEqual(
    lines.filter(line => line.startsWith('kube_')),
    [
      `kube_pod_resource_limit${labels('example.com/gpu', '')} 1`,
      `kube_pod_resource_request${labels('cpu', 'cores')} 1.5`,
      `kube_pod_resource_request${labels('example.com/gpu', '')} 1`,
    ],
  )
})

function expecting(metrics: MetricsRegistry): (series: string, value: number) => void {
  const lines = metrics.render().split('\n')
  return (series, value) => {
    const [name = ''] = series.split('{')
    const family = lines.filter(line => line.startsWith(name))
    assert.ok(family.includes(`${series} ${value}`), `${series} ${value} in\n${family.join('\n')}`)
  }
}
