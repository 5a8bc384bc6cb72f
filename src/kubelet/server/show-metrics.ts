/** Serves metrics in Prometheus' text format, and the stats summary. */
import { metricsMediaType, type MetricsRegistry } from '#/base/metrics.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { renderFamilies, type MetricFamily } from './metric-text.ts'
import { resourceFamilies } from './resource-families.ts'
import { respondBytes, respondJson } from './responses.ts'
import type { ServerRequest, SharedRequest } from './routes.ts'

export async function showMetrics({
  exchange,
  metrics,
  volumeStats,
  platform,
}: SharedRequest): Promise<void> {
  const volumes = await volumeStats.families().catch((error: unknown): readonly MetricFamily[] => {
    platform.log.warn('Failed to measure volumes', { error })
    return []
  })
  expose(exchange, metrics.registry, renderFamilies(volumes))
}

export function showProbeMetrics({ exchange, metrics }: ServerRequest): void {
  expose(exchange, metrics.probeRegistry)
}

export function showSliMetrics({ exchange, metrics }: SharedRequest): void {
  expose(exchange, metrics.sliRegistry)
}

/** CPU and memory of containers, pods and node, for the metrics server. */
export async function showResourceMetrics({ exchange, stats, platform }: SharedRequest): Promise<void> {
  const summary = await stats.resources().catch((error: unknown) => {
    platform.log.warn('Error getting container stats', { error })
    return undefined
  })
  answer(exchange, renderFamilies(resourceFamilies(summary)))
}

/** Containers and the machine, under cAdvisor's metric names. */
export async function showCadvisorMetrics({ exchange, cadvisor }: ServerRequest): Promise<void> {
  answer(exchange, await cadvisor.render())
}

/** Serves the stats summary of node and pods. */
export async function showSummary({ exchange, query, stats }: SharedRequest): Promise<void> {
  const isShort = query.get('only_cpu_and_memory') === 'true'
  respondJson(exchange, await (isShort ? stats.usage() : stats.summary()))
}

/** `before` are gauges, which both formats write alike. */
function expose(exchange: HttpExchange, registry: MetricsRegistry, before = ''): void {
  const { mediaType, text } = registry.expose(exchange.headers['accept'])
  respondBytes(exchange, { status: 200, mediaType, bytes: Buffer.from(before + text) })
}

function answer(exchange: HttpExchange, text: string): void {
  respondBytes(exchange, { status: 200, mediaType: metricsMediaType, bytes: Buffer.from(text) })
}
