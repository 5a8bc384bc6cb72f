/** The pipeline stage that records request metrics. */
import { isApiError } from '#/api/errors.ts'
import type { ScalarSeries, HistogramSeries } from '#/base/metrics.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Metrics, RequestLabels, RequestSeries } from './metrics.ts'
import { onUpgradeEnd } from './on-upgrade-end.ts'
import type { Stage } from './pipeline.ts'
import {
  isConnectSubresource,
  type ApiVerb,
  type RequestInfo,
  type ResourceRequestInfo,
} from './request-info.ts'
import type { ApiRequest, ApiResponse, StreamBody, StreamChunk, ValueBody } from './request.ts'

export interface MeasureOptions {
  readonly metrics: Metrics
  readonly clock: Clock
  /** Requests for resources that are not served share one label set, so that cardinality stays bounded. */
  readonly isServed: (info: ResourceRequestInfo) => boolean
}

export function measure({ metrics, clock, isServed }: MeasureOptions): Stage {
  return async (context, next) => {
    const { request, info } = context
    const labels = labelsOf(request, info, isServed)
    const series = metrics.request(labels)
    const running = runningFigure(metrics, series, labels.verb)
    const startedMs = clock.monotonicMs()
    let isRunning = true
    const finish = (code: number): void => {
      if (!isRunning) return
      isRunning = false
      running.add(-1)
      metrics.recordResponse(labels, series, { code, seconds: (clock.monotonicMs() - startedMs) / 1_000 })
    }
    running.add(1)
    try {
      const response = await next(context)
      if (response.body?.type === 'stream') {
        // The client may disconnect before the stream is read.
        request.signal.addEventListener('abort', () => finish(response.status), { once: true })
        return measureStream(response, response.body, { events: metrics.watchEvents(labels), finish })
      }
      if (response.body?.type === 'upgrade') {
        return { ...response, body: onUpgradeEnd(response.body, () => finish(response.status)) }
      }
      finish(response.status)
      if (response.body === undefined) return response
      return { ...response, body: new MeasuredBody(response.body, series.sizes) }
    } catch (error) {
      finish(isApiError(error) ? error.code : 500)
      throw error
    }
  }
}

function runningFigure({ inFlight }: Metrics, { running }: RequestSeries, verb: string): ScalarSeries {
  if (verb === 'WATCH' || verb === 'CONNECT') return running
  return verb === 'GET' || verb === 'LIST' || verb === 'HEAD' ? inFlight.readOnly : inFlight.mutating
}

/** Observes the response size when the bytes are produced. */
class MeasuredBody implements ValueBody {
  readonly type = 'value'
  readonly #body: ValueBody
  readonly #sizes: HistogramSeries
  readonly pieces: ValueBody['pieces']

  constructor(body: ValueBody, sizes: HistogramSeries) {
    this.#body = body
    this.#sizes = sizes
    const { pieces } = body
    if (pieces) this.pieces = () => this.#measured(pieces())
  }

  get mediaType(): string {
    return this.#body.mediaType
  }

  get value(): unknown {
    return this.#body.value
  }

  bytes(): readonly Uint8Array[] {
    const pieces = this.#body.bytes()
    let sizeBytes = 0
    for (const piece of pieces) sizeBytes += piece.length
    this.#sizes.observe(sizeBytes)
    return pieces
  }

  async *#measured(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    let sizeBytes = 0
    for await (const piece of pieces) {
      sizeBytes += piece.length
      yield piece
    }
    this.#sizes.observe(sizeBytes)
  }
}

interface StreamFigures {
  readonly events: ScalarSeries
  readonly finish: (code: number) => void
}

/** A streaming request is counted as running until the stream ends. */
function measureStream(response: ApiResponse, body: StreamBody, figures: StreamFigures): ApiResponse {
  const { events, finish } = figures
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    try {
      for await (const batch of body.chunks) {
        events.add(batch.length)
        yield batch
      }
    } finally {
      finish(response.status)
    }
  }
  return { ...response, body: { ...body, chunks: chunks() } }
}

const verbs: Readonly<Record<ApiVerb, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  options: 'OPTIONS',
}

/** Paths with their own label value. */
const knownPaths: ReadonlySet<string> = new Set([
  'api',
  'apis',
  'healthz',
  'livez',
  'metrics',
  'openapi',
  'readyz',
  'version',
])
const knownMethods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])

function labelsOf(
  request: ApiRequest,
  info: RequestInfo,
  isServed: (info: ResourceRequestInfo) => boolean,
): RequestLabels {
  if (!info.isResource || !isServed(info)) return { ...nothing, ...pathLabels(request, info) }
  const { group, version, resource, subresource } = info
  return {
    verb: verbOf(request, info),
    group,
    version,
    resource,
    subresource,
    scope: scopeOf(info),
    // Avoids parsing the query of GET requests, which have no dryRun.
    dryRun: request.method === 'GET' ? '' : dryRunOf(request),
  }
}

const nothing: RequestLabels = {
  verb: 'OTHER',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  scope: '',
  dryRun: '',
}

function pathLabels(
  { method }: ApiRequest,
  { path, isResource }: RequestInfo,
): Pick<RequestLabels, 'verb' | 'subresource'> {
  const [, first = ''] = path.split('/', 2)
  return {
    verb: knownMethods.has(method) ? method : nothing.verb,
    subresource: !isResource && knownPaths.has(first) ? `/${first}` : '',
  }
}

function verbOf(request: ApiRequest, info: ResourceRequestInfo): string {
  if (isConnectSubresource(info)) return 'CONNECT'
  const { verb } = info
  const isApply = verb === 'patch' && request.headers['content-type']?.startsWith('application/apply-patch+')
  return isApply ? 'APPLY' : verbs[verb]
}

function scopeOf({ name, verb, namespace }: ResourceRequestInfo): RequestLabels['scope'] {
  if (name !== '' || verb === 'create') return 'resource'
  return namespace === '' ? 'cluster' : 'namespace'
}

function dryRunOf({ query }: ApiRequest): string {
  const asked = query.getAll('dryRun')
  return asked.length === 0 ? '' : asked.every(value => value === 'All') ? 'All' : 'invalid'
}
