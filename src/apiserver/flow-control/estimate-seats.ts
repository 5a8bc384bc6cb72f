/** How many seats a request takes. A long list is as much work as many other requests. */
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import type { RequestContext } from '../request.ts'

/** `nominalSeats` are those of its level. */
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

/** A watch that is not resumed gets everything there is first. */
function beginsWithAll(query: URLSearchParams): boolean {
  const version = query.get('resourceVersion')
  return version === null || version === '' || version === '0' || query.get('sendInitialEvents') === 'true'
}

const objectsPerSeat = 100
const seatsMax = 10
/** No list takes more than this part of its level. */
const shareMax = 0.15
