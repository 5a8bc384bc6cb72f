/** The pipeline stage that records request metrics. */
import { isApiError } from '#/api/errors.ts'
import type { Resource } from '#/api/resource.ts'
import type { HistogramSeries } from '#/base/metrics.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Metrics } from './metrics.ts'
import { RequestLabeler } from './metrics/request-labeler.ts'
import { isLongRunning, type FilterName, type RequestSeries } from './metrics/requests.ts'
import type { WatchEventSeries } from './metrics/watch-cache.ts'
import { onUpgradeEnd } from './on-upgrade-end.ts'
import type { Stage } from './pipeline.ts'
import type { ResourceRequestInfo } from './request-info.ts'
import type {
  ApiResponse,
  GzipBody,
  RequestContext,
  StreamBody,
  StreamChunk,
  PieceBatch,
  ValueBody,
} from './request.ts'

export interface MeasureOptions {
  readonly metrics: Metrics
  readonly clock: Clock
  readonly resourceOf: (info: ResourceRequestInfo) => Resource | undefined
}

export function measure({ metrics, clock, resourceOf }: MeasureOptions): Stage {
  const labeler = new RequestLabeler(metrics.requests, resourceOf)
  return async (context, next) => {
    const { request, info } = context
    const series = labeler.seriesOf(request, info)
    const figures = new RequestFigures({ metrics, series, clock }, context)
    try {
      const response = await next(context)
      if (response.body?.type === 'stream') {
        // The client may disconnect before the stream is read.
        request.signal.addEventListener('abort', () => figures.finish(response.status), { once: true })
        const { labels } = series
        const watch = labels.verb === 'WATCH' ? metrics.watchCache.events(labels) : undefined
        return measureStream(response, response.body, { figures, watch })
      }
      if (response.body?.type === 'upgrade') {
        return { ...response, body: onUpgradeEnd(response.body, () => figures.finish(response.status)) }
      }
      figures.finish(response.status)
      if (response.body === undefined || series.sizes === undefined) return response
      return { ...response, body: new MeasuredBody(response.body, series.sizes) }
    } catch (error) {
      figures.finish(isApiError(error) ? error.code : 500)
      throw error
    }
  }
}

/** Records the time between the end of the previous measured stage and the end of this one. */
export function measureFilter(metrics: Metrics | undefined, clock: Clock, name: FilterName): Stage {
  const series = metrics?.requests.filter(name)
  const step = stepNames[name]
  return (context, next) => {
    const nowMs = clock.monotonicMs()
    const { stageStartedMs, origin } = context
    series?.observe((nowMs - stageStartedMs) / 1_000)
    if (step) origin?.addStep({ name: step, startedMs: stageStartedMs, endedMs: nowMs })
    context.stageStartedMs = nowMs
    return next(context)
  }
}

/** Stages that are steps in the origin of a write. */
const stepNames: { readonly [Name in FilterName]?: string } = {
  authentication: 'authentication',
  priorityandfairness: 'priority-and-fairness',
  authorization: 'authorization',
}

interface RequestParts {
  readonly metrics: Metrics
  readonly series: RequestSeries
  readonly clock: Clock
}

/** The figures of one request, from its arrival to its end. */
class RequestFigures {
  readonly #parts: RequestParts
  readonly #context: RequestContext
  readonly #startedMs: number
  #isRunning = true

  constructor(parts: RequestParts, context: RequestContext) {
    this.#parts = parts
    this.#context = context
    this.#startedMs = parts.clock.monotonicMs()
    context.stageStartedMs = this.#startedMs
    this.#addRunning(1, this.#startedMs)
  }

  finish(code: number): void {
    if (!this.#isRunning) return
    this.#isRunning = false
    const { metrics, series, clock } = this.#parts
    const { requests } = metrics
    const { request, user, excludedMs, isTerminated } = this.#context
    const nowMs = clock.monotonicMs()
    this.#addRunning(-1, nowMs)
    const seconds = (nowMs - this.#startedMs) / 1_000
    requests.recordResponse(series, { code, seconds, excludedSeconds: excludedMs / 1_000 })
    if (isTerminated) requests.recordTermination(series, code)
    const isAborted = request.isAborted ?? request.signal.aborted
    if (isAborted && series.running === undefined) requests.recordAbort(series)
    if (user.username === apiServerUser) requests.recordSelfRequest(series)
    if (isWrite(series)) requests.fieldValidation(fieldValidationOf(request.query)).observe(seconds)
  }

  #addRunning(amount: 1 | -1, nowMs: number): void {
    const { metrics, series } = this.#parts
    const { verb } = series.labels
    if (isLongRunning(verb)) series.running?.add(amount)
    else if (verb === 'GET' || verb === 'LIST') metrics.requests.inFlight.readOnly.add(amount, nowMs)
    else metrics.requests.inFlight.mutating.add(amount, nowMs)
  }
}

const apiServerUser = 'system:apiserver'

function isWrite({ labels: { verb } }: RequestSeries): boolean {
  return verb === 'POST' || verb === 'PUT' || verb === 'PATCH' || verb === 'APPLY'
}

function fieldValidationOf(query: URLSearchParams): string {
  const parameter = query.get('fieldValidation')
  if (parameter === null) return ''
  return fieldValidations.has(parameter) ? parameter : 'invalid'
}

const fieldValidations: ReadonlySet<string> = new Set(['Ignore', 'Warn', 'Strict'])

/** Observes the response size when the bytes are produced. */
class MeasuredBody implements ValueBody {
  readonly type = 'value'
  readonly #body: ValueBody
  readonly #sizes: HistogramSeries
  readonly batches: ValueBody['batches']
  readonly gzip: ValueBody['gzip']

  constructor(body: ValueBody, sizes: HistogramSeries) {
    this.#body = body
    this.#sizes = sizes
    const { batches, gzip } = body
    if (batches) this.batches = () => this.#measured(batches())
    if (gzip) this.gzip = () => this.#measuredGzip(gzip)
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

  async #measuredGzip(gzip: () => Promise<GzipBody | undefined>): Promise<GzipBody | undefined> {
    const compressed = await gzip()
    if (compressed) this.#sizes.observe(compressed.sizeBytes)
    return compressed
  }

  async *#measured(batches: AsyncIterable<PieceBatch>): AsyncGenerator<PieceBatch, void, undefined> {
    let sizeBytes = 0
    for await (const batch of batches) {
      sizeBytes += batch.sizeBytes
      yield batch
    }
    this.#sizes.observe(sizeBytes)
  }
}

/** A streaming request is counted as running until the stream ends. */
function measureStream(
  response: ApiResponse,
  body: StreamBody,
  { figures, watch }: { readonly figures: RequestFigures; readonly watch: WatchEventSeries | undefined },
): ApiResponse {
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    try {
      for await (const batch of body.chunks) {
        watch?.total.add(batch.length)
        yield batch
      }
    } finally {
      figures.finish(response.status)
    }
  }
  if (watch === undefined) return { ...response, body: { ...body, chunks: chunks() } }
  let sizes: HistogramSeries | undefined
  const onSent = (sizeBytes: number): void => {
    sizes ??= watch.sizes()
    sizes.observe(sizeBytes)
  }
  return { ...response, body: { ...body, chunks: chunks(), onSent } }
}
