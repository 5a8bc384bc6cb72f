import { respondJson } from './responses.ts'
import type { ServerRequest } from './routes.ts'

/** Serves the stats summary of node and pods. */
export async function showSummary({ exchange, query, stats }: ServerRequest): Promise<void> {
  const isShort = query.get('only_cpu_and_memory') === 'true'
  respondJson(exchange, await (isShort ? stats.usage() : stats.summary()))
}
