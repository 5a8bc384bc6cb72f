import type { MetricFamily, ReadMetric } from './metric-text.ts'
import type { ContainerStats, PodStats, Summary, SwapStats } from './summary.ts'

/** The families of `/metrics/resource`; `summary` is undefined if it could not be measured. */
export function resourceFamilies(summary: Summary | undefined): readonly MetricFamily[] {
  const failed = gauge('resource_scrape_error', '[STABLE] 1 if containers could not be measured.', [
    { labels: {}, value: summary === undefined ? 1 : 0 },
  ])
  return summary === undefined ? [failed] : [...nodeFamilies(summary), ...containerFamilies(summary), failed]
}

function nodeFamilies({ node, pods }: Summary): readonly MetricFamily[] {
  const { cpu, memory, swap } = node
  const labels = {}
  return [
    counter('node_cpu_usage_seconds_total', '[STABLE] CPU time of the node.', [
      { labels, value: cpu.usageCoreNanoSeconds / 1e9, timeMs: Date.parse(cpu.time) },
    ]),
    gauge('node_memory_working_set_bytes', '[STABLE] Working set of the node.', [
      { labels, value: memory.workingSetBytes, timeMs: Date.parse(memory.time) },
    ]),
    gauge(
      'node_swap_usage_bytes',
      '[ALPHA] Swap space used on the node.',
      swap ? [{ labels, value: swap.swapUsageBytes, timeMs: Date.parse(swap.time) }] : [],
    ),
    counter(
      'pod_cpu_usage_seconds_total',
      '[STABLE] CPU time of the pod.',
      pods.map(pod => {
        return {
          labels: podLabels(pod),
          value: pod.cpu.usageCoreNanoSeconds / 1e9,
          timeMs: Date.parse(pod.cpu.time),
        }
      }),
    ),
    gauge(
      'pod_memory_working_set_bytes',
      '[STABLE] Working set of the pod.',
      pods.map(pod => {
        return {
          labels: podLabels(pod),
          value: pod.memory.workingSetBytes,
          timeMs: Date.parse(pod.memory.time),
        }
      }),
    ),
    gauge('pod_swap_usage_bytes', '[ALPHA] Swap space used by the pod.', pods.flatMap(podSwap)),
  ]
}

function containerFamilies(summary: Summary): readonly MetricFamily[] {
  return [
    gauge(
      'container_start_time_seconds',
      '[STABLE] Unix time of the start of the container.',
      eachContainer(summary, ({ startTime }) => [Date.parse(startTime) / 1_000]),
    ),
    counter(
      'container_cpu_usage_seconds_total',
      '[STABLE] CPU time of the container.',
      eachContainer(summary, ({ cpu }) => [cpu.usageCoreNanoSeconds / 1e9, cpu.time]),
    ),
    gauge(
      'container_memory_working_set_bytes',
      '[STABLE] Working set of the container.',
      eachContainer(summary, ({ memory }) => [memory.workingSetBytes, memory.time]),
    ),
    gauge(
      'container_swap_usage_bytes',
      '[ALPHA] Swap space used by the container.',
      eachContainer(summary, ({ swap }) => swapFigure(swap, ({ swapUsageBytes }) => swapUsageBytes)),
    ),
    gauge(
      'container_swap_limit_bytes',
      '[ALPHA] Swap space that the container may use.',
      eachContainer(summary, ({ swap }) =>
        swapFigure(swap, ({ swapUsageBytes, swapAvailableBytes }) => swapUsageBytes + swapAvailableBytes),
      ),
    ),
  ]
}

type Figure = readonly [value: number, time?: string]

function swapFigure(swap: SwapStats | undefined, value: (swap: SwapStats) => number): Figure | undefined {
  return swap && [value(swap), swap.time]
}

function eachContainer(
  { pods }: Summary,
  figure: (container: ContainerStats) => Figure | undefined,
): readonly ReadMetric[] {
  return pods.flatMap(pod =>
    pod.containers.flatMap(container => {
      const [value, time] = figure(container) ?? []
      if (value === undefined) return []
      const labels = { container: container.name, ...podLabels(pod) }
      return [{ labels, value, ...(time !== undefined && { timeMs: Date.parse(time) }) }]
    }),
  )
}

function podSwap(pod: PodStats): readonly ReadMetric[] {
  const swaps = pod.containers.flatMap(({ swap }) => swap ?? [])
  const [first] = swaps
  if (first === undefined) return []
  const value = swaps.reduce((sum, { swapUsageBytes }) => sum + swapUsageBytes, 0)
  return [{ labels: podLabels(pod), value, timeMs: Date.parse(first.time) }]
}

function podLabels({ podRef }: PodStats): Readonly<Record<string, string>> {
  return { namespace: podRef.namespace, pod: podRef.name }
}

function counter(name: string, help: string, metrics: readonly ReadMetric[]): MetricFamily {
  return { name, help, type: 'counter', metrics }
}

function gauge(name: string, help: string, metrics: readonly ReadMetric[]): MetricFamily {
  return { name, help, type: 'gauge', metrics }
}
