/** Estimates the seats a request occupies: a large list counts as several requests. */
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import type { RequestContext } from '../request.ts'

/** `nominalSeats` is the nominal concurrency limit of the priority level. */
export function estimateSeats(
  { cache, scheme }: Pick<Registry, 'cache' | 'scheme'>,
  context: RequestContext,
  nominalSeats: number,
): number {
  const { info } = context
  if (!info.isResource || info.name !== '' || (info.verb !== 'list' && info.verb !== 'watch')) return 1
  const { query } = context.request
  if (info.verb === 'watch' && !beginsWithAll(query)) return 1
  const resource = scheme.byResource(info)
  if (resource === undefined) return 1
  const prefix = prefixOf(resource, info.namespace)
  const objects = cache.countAfter(prefix, prefix)
  if (objects <= objectsPerSeat) return 1
  const limit = Number(query.get('limit')) || objects
  const seats = Math.ceil(Math.min(limit, objects) / objectsPerSeat)
  return Math.max(1, Math.min(seats, seatsMax, Math.ceil(nominalSeats * shareMax)))
}

/** A watch without a resourceVersion to resume from starts with a full list. */
function beginsWithAll(query: URLSearchParams): boolean {
  const version = query.get('resourceVersion')
  return version === null || version === '' || version === '0' || query.get('sendInitialEvents') === 'true'
}

const objectsPerSeat = 100
const seatsMax = 10
/** Maximum fraction of its level's seats that one list may occupy. */
const shareMax = 0.15
