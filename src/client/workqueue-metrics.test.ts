import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MetricsRegistry } from '#/base/metrics.ts'
import { Simulation } from '#/platform/simulated.ts'
import { WorkQueue } from './workqueue.ts'
import { WorkQueueMetricsProvider } from './workqueue-metrics.ts'

test('a queue with metrics reports adds, depth, durations, retries and running work by its name', async () => {
  const simulation = new Simulation({ seed: 1 })
  const registry = new MetricsRegistry()
  const metrics = new WorkQueueMetricsProvider(registry)
  const queue = new WorkQueue({ platform: simulation.host('test'), name: 'job', metrics })
  for (const key of ['a', 'b', 'a', 'c']) queue.add(key)
  queue.addAfter('d', 60_000)
  await simulation.advance(500)
  await queue.get()
  await queue.get()
  await simulation.advance(20)
  queue.done('a')
  await simulation.advance(2_000)
  assert.deepEqual(valuesIn(registry), {
    workqueue_adds_total: 3,
    workqueue_depth: 1,
    workqueue_longest_running_processor_seconds: 2.02,
    workqueue_queue_duration_seconds_count: 2,
    workqueue_queue_duration_seconds_sum: 1,
    workqueue_retries_total: 1,
    workqueue_unfinished_work_seconds: 2.02,
    workqueue_work_duration_seconds_count: 1,
    workqueue_work_duration_seconds_sum: 0.02,
  })
  const text = registry.render()
  assert.match(text, /workqueue_work_duration_seconds_bucket\{name="job",le="0.01"\} 0\n/)
  assert.match(text, /workqueue_work_duration_seconds_bucket\{name="job",le="0.1"\} 1\n/)
})

test('a queue that takes the place of another one continues its totals', () => {
  const simulation = new Simulation({ seed: 1 })
  const registry = new MetricsRegistry()
  const options = {
    platform: simulation.host('test'),
    name: 'job',
    metrics: new WorkQueueMetricsProvider(registry),
  }
  new WorkQueue(options).add('a')
  new WorkQueue(options).add('a')
  const { workqueue_adds_total: adds, workqueue_depth: depth } = valuesIn(registry)
  assert.deepEqual([adds, depth], [2, 1])
})

function valuesIn(registry: MetricsRegistry): Record<string, number> {
  const lines = registry.render().matchAll(/^(\w+)\{name="job"\} (\S+)$/gm)
  return Object.fromEntries(Array.from(lines, ([, name = '', value]) => [name, Number(value)]))
}
