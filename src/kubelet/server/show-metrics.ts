/** Serves metrics in Prometheus' text format, and the stats summary. */
import { metricsMediaType } from '#/base/metrics.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { respondBytes, respondJson } from './responses.ts'
import type { ServerRequest } from './routes.ts'
import type { ContainerStats, PodStats, Summary } from './stats/summary.ts'

export function showMetrics({ exchange, metrics, view }: ServerRequest): void {
  answer(exchange, metrics.render(view))
}

/** CPU and memory of containers, pods and node, for the metrics server. */
export async function showResourceMetrics({ exchange, stats, platform }: ServerRequest): Promise<void> {
  const summary = await stats.resources().catch((error: unknown) => {
    platform.log.warn('Error getting container stats', { error })
    return undefined
  })
  const failed: MetricFamily = {
    name: 'resource_scrape_error',
    help: '1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    metrics: [{ labels: {}, value: summary === undefined ? 1 : 0 }],
  }
  answer(exchange, renderMetrics([...(summary ? resourceMetrics(summary) : []), failed]))
}

/** The same and more, under cAdvisor's metric names. */
export async function showCadvisorMetrics({ exchange, stats, linux }: ServerRequest): Promise<void> {
  const summary = await stats.resources()
  const { processors, memoryBytes } = linux.machine
  answer(
    exchange,
    renderMetrics([
      machineMetric('machine_cpu_cores', 'Number of logical CPU cores.', processors),
      machineMetric('machine_memory_bytes', 'Amount of memory installed on the machine.', memoryBytes),
      ...containerMetrics(summary),
      family('container_memory_usage_bytes', 'Current memory usage in bytes, including all memory', {
        type: 'gauge',
        metrics: eachContainer(summary, ({ memory }) => [memory.usageBytes, memory.time]),
      }),
      family('container_memory_rss', 'Size of RSS in bytes.', {
        type: 'gauge',
        metrics: eachContainer(summary, ({ memory }) => [memory.rssBytes, memory.time]),
      }),
    ]),
  )
}

/** Serves the stats summary of node and pods. */
export async function showSummary({ exchange, query, stats }: ServerRequest): Promise<void> {
  const isShort = query.get('only_cpu_and_memory') === 'true'
  respondJson(exchange, await (isShort ? stats.usage() : stats.summary()))
}

function answer(exchange: HttpExchange, text: string): void {
  respondBytes(exchange, { status: 200, mediaType: metricsMediaType, bytes: Buffer.from(text) })
}

function resourceMetrics(summary: Summary): readonly MetricFamily[] {
  const { node, pods } = summary
  return [
    family('node_cpu_usage_seconds_total', 'Cumulative cpu time consumed by the node in core-seconds', {
      type: 'counter',
      metrics: [{ labels: {}, value: node.cpu.usageCoreNanoSeconds / 1e9, time: node.cpu.time }],
    }),
    family('node_memory_working_set_bytes', 'Current working set of the node in bytes', {
      type: 'gauge',
      metrics: [{ labels: {}, value: node.memory.workingSetBytes, time: node.memory.time }],
    }),
    ...containerMetrics(summary),
    family('pod_cpu_usage_seconds_total', 'Cumulative cpu time consumed by the pod in core-seconds', {
      type: 'counter',
      metrics: pods.map(pod => {
        return { labels: podLabels(pod), value: pod.cpu.usageCoreNanoSeconds / 1e9, time: pod.cpu.time }
      }),
    }),
    family('pod_memory_working_set_bytes', 'Current working set of the pod in bytes', {
      type: 'gauge',
      metrics: pods.map(pod => {
        return { labels: podLabels(pod), value: pod.memory.workingSetBytes, time: pod.memory.time }
      }),
    }),
  ]
}

function containerMetrics(summary: Summary): readonly MetricFamily[] {
  return [
    family('container_start_time_seconds', 'Start time of the container since unix epoch in seconds', {
      type: 'gauge',
      metrics: eachContainer(summary, ({ startTime }) => [Date.parse(startTime) / 1_000]),
    }),
    family(
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the container in core-seconds',
      {
        type: 'counter',
        metrics: eachContainer(summary, ({ cpu }) => [cpu.usageCoreNanoSeconds / 1e9, cpu.time]),
      },
    ),
    family('container_memory_working_set_bytes', 'Current working set of the container in bytes', {
      type: 'gauge',
      metrics: eachContainer(summary, ({ memory }) => [memory.workingSetBytes, memory.time]),
    }),
  ]
}

function eachContainer(
  { pods }: Summary,
  metric: (container: ContainerStats) => readonly [value: number, time?: string],
): MetricFamily['metrics'] {
  return pods.flatMap(pod =>
    pod.containers.map(container => {
      const [value, time] = metric(container)
      const labels = { container: container.name, ...podLabels(pod) }
      return { labels, value, ...(time !== undefined && { time }) }
    }),
  )
}

function podLabels({ podRef }: PodStats): Readonly<Record<string, string>> {
  return { namespace: podRef.namespace, pod: podRef.name }
}

function machineMetric(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'gauge', metrics: [{ labels: {}, value }] }
}

function family(name: string, help: string, rest: Pick<MetricFamily, 'type' | 'metrics'>): MetricFamily {
  return { name, help, ...rest }
}

/** Metrics of one name. */
interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly metrics: readonly Metric[]
}

interface Metric {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Timestamp, if not now. */
  readonly time?: string
}

/** Renders one-off metrics in Prometheus' text format. Values that are not numbers are omitted. */
function renderMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, help, type, metrics }) => [
    `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`,
    ...metrics.filter(({ value }) => Number.isFinite(value)).map(metric => `${name}${render(metric)}\n`),
  ])
  return lines.join('')
}

function render({ labels, value, time }: Metric): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`)
  const named = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
  return `${named} ${value}${time === undefined ? '' : ` ${Date.parse(time)}`}`
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
