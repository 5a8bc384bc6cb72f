/** Serves `/k8ts/writes` and `/k8ts/passes`. */
import { badRequest, methodNotAllowed, serviceUnavailable, tooManyRequests } from '#/api/errors.ts'
import type { Pass } from '#/api/origin.ts'
import { quote } from '#/api/text/quote.ts'
import { parseTime } from '#/api/text/time.ts'
import { KeyedLimits } from '#/base/keyed-limits.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { formatMoment, noHistory, wholeNumber } from '../handlers/past.ts'
import type { ObjectHistory } from '../object-history.ts'
import { isTrue, writesPath } from '../request-info.ts'
import type { ApiResponse, RequestContext, StreamChunk } from '../request.ts'
import { forbiddenError } from '../stages.ts'
import { valueBody } from '../view.ts'
import { WritesStream } from './writes-stream.ts'

/** The passes of components in this process that have written nothing to the API. */
export interface PassSource {
  list(afterMs: number): readonly (Pass & { readonly endedMs: number })[]
}

export interface HistoryPathsOptions {
  readonly clock: Clock
  readonly authorizer: Pick<Authorizer, 'authorize'>
  readonly isReady: () => boolean
  /** Undefined if no history is kept. */
  readonly history: ObjectHistory | undefined
  readonly passes: PassSource | undefined
}

export class HistoryPaths {
  readonly #options: HistoryPathsOptions
  readonly #streams = new KeyedLimits(streamLimits)

  constructor(options: HistoryPathsOptions) {
    this.#options = options
  }

  /** Undefined for other paths. */
  handle(context: RequestContext): Promise<ApiResponse> | undefined {
    const { path, method } = context.request
    if (path !== writesPath && path !== passesPath) return undefined
    if (method !== 'GET') throw methodNotAllowed({ group: '', kind: path }, method)
    if (!this.#options.isReady()) throw serviceUnavailable('the server is not ready')
    return path === writesPath ? this.#writes(context) : this.#passes(context)
  }

  async #writes({ request, user }: RequestContext): Promise<ApiResponse> {
    const { history, clock } = this.#options
    if (history === undefined) throw badRequest(noHistory)
    const { query, signal } = request
    const [after = 0, untilRevision] = [wholeNumber(query, 'after'), wholeNumber(query, 'until')]
    const sinceMs = readSince(query)
    const follows = isTrue(query.get('follow'))
    const limit = wholeNumber(query, 'limit') || Infinity
    const currentRevision = await history.currentRevision(signal)
    const { revision, timeMs } = await history.retainedSince()
    const since = sinceMs === undefined ? 0 : ((await history.log.revisionAt(sinceMs)) ?? 0)
    const stream = this.#streams.enter(user.username)
    if (stream === undefined) throw tooManyRequests(`too many requests of ${writesPath}, try again later`, 1)
    signal.addEventListener('abort', () => stream[Symbol.dispose](), { once: true })
    const writes = new WritesStream({
      history,
      clock,
      user,
      signal,
      head: { retainedSince: { revision, time: formatMoment(timeMs) }, revision: currentRevision },
      afterRevision: Math.max(after, since),
      untilRevision,
      currentRevision,
      namespace: query.get('namespace') ?? '',
      limit,
      follows,
    })
    const chunks = untilEnd(writes, stream)
    return { status: 200, body: { type: 'stream', mediaType: 'application/x-ndjson', chunks } }
  }

  async #passes({ request, user }: RequestContext): Promise<ApiResponse> {
    const { authorizer, passes } = this.#options
    const afterMs = wholeNumber(request.query, 'after') ?? 0
    const attributes = { ...nodesProxy, user }
    const { decision, reason } = await authorizer.authorize(attributes)
    if (decision !== 'allow') throw forbiddenError(attributes, reason)
    const value = { passes: passes?.list(afterMs) ?? [] }
    return { status: 200, body: valueBody(value, { format: 'json', pretty: false }) }
  }
}

/** Passes name pods and nodes of the whole cluster, as the debug pages of a kubelet do. */
const nodesProxy = {
  isResource: true,
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'nodes',
  subresource: 'proxy',
  namespace: '',
  name: '',
} as const

const passesPath = '/k8ts/passes'

const streamLimits = { perKey: 64, total: 512 }

function readSince(query: URLSearchParams): number | undefined {
  const text = query.get('since') ?? ''
  if (text === '') return undefined
  const timeMs = parseTime(text)
  if (timeMs !== undefined) return timeMs
  const wanted = 'must be a time such as 2026-05-04T03:02:01Z'
  throw badRequest(`since: invalid value ${quote(text.slice(0, 100))}: ${wanted}`)
}

async function* untilEnd(
  writes: AsyncIterable<readonly StreamChunk[]>,
  stream: Disposable,
): AsyncGenerator<readonly StreamChunk[], void, undefined> {
  using _ = stream
  yield* writes
}
