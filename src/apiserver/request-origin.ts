/**
 * The origin of a request's writes (`api/origin.ts`), recorded while the request passes the pipeline. It is encoded
 * once for each write and kept by the store beside the new version, so it describes the request up to the write.
 */
import { encodeOrigin, passHeader, stepsMax, type Step } from '#/api/origin.ts'
import type { Clock } from '#/platform/platform.ts'
import type { RequestContext } from './request.ts'
import type { Stage } from './pipeline.ts'

export class RequestOrigin {
  readonly clock: Clock
  readonly #context: RequestContext
  /** Monotonic time at which the pipeline began. */
  readonly #startedMs: number
  readonly #steps: Step[] = []
  #lastEndedMs: number

  constructor(context: RequestContext, clock: Clock) {
    this.clock = clock
    this.#context = context
    this.#startedMs = clock.monotonicMs()
    this.#lastEndedMs = this.#startedMs
  }

  /** Steps beyond the maximum are dropped. */
  addStep({ name, startedMs, endedMs, detail }: MeasuredStage): void {
    this.#lastEndedMs = Math.max(this.#lastEndedMs, endedMs)
    if (this.#steps.length >= stepsMax - 1) return
    this.#steps.push({ name, startMs: startedMs - this.#startedMs, durationMs: endedMs - startedMs, detail })
  }

  /** Names the time since the last step, unless it is too short to matter. */
  addStepUntil(name: string, endedMs: number): void {
    const startedMs = this.#lastEndedMs
    if (endedMs - startedMs >= shortMs) this.addStep({ name, startedMs, endedMs })
  }

  /** The encoded origin of a write that is about to begin. */
  note(): Uint8Array {
    const { request, info, user, receivedMs } = this.#context
    const { headers, query } = request
    const startMs = this.clock.monotonicMs() - this.#startedMs
    this.#steps.push({ name: 'store', startMs, durationMs: 0 })
    const encoded = encodeOrigin({
      user: user.username,
      userAgent: headers['user-agent'] ?? '',
      verb: verbOf(this.#context),
      subresource: info.isResource ? info.subresource : undefined,
      fieldManager: query.get('fieldManager') ?? undefined,
      receivedMs,
      steps: this.#steps,
      pass: headers[passHeader],
      traceparent: traceparentOf(headers),
    })
    // A request may write several objects.
    this.#steps.pop()
    return encoded
  }
}

/** Times are monotonic. */
interface MeasuredStage {
  readonly name: string
  readonly startedMs: number
  readonly endedMs: number
  readonly detail?: string | undefined
}

const shortMs = 0.1

/** Begins to record the origin of requests that may write. */
export function recordOrigin(clock: Clock): Stage {
  return (context, next) => {
    if (mutatingMethods.has(context.request.method)) {
      context.origin = new RequestOrigin(context, clock)
      context.stageStartedMs = clock.monotonicMs()
    }
    return next(context)
  }
}

const mutatingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** For the options of a write to the store. */
export function noteOf({ origin }: { readonly origin?: RequestOrigin | undefined }): Uint8Array | undefined {
  return origin?.note()
}

/** The headers of W3C Trace Context that a request to another server continues. */
export function traceHeadersOf({ headers }: RequestContext['request']): Readonly<Record<string, string>> {
  const traceparent = traceparentOf(headers)
  if (traceparent === undefined) return noHeaders
  const tracestate = headers['tracestate']
  if (tracestate === undefined || tracestate.length > tracestateCharactersMax) return { traceparent }
  return { traceparent, tracestate }
}

const noHeaders = {}

/** Longer ones may be discarded: https://www.w3.org/TR/trace-context/#tracestate-limits */
const tracestateCharactersMax = 512

function traceparentOf(headers: RequestContext['request']['headers']): string | undefined {
  const { traceparent } = headers
  if (traceparent === undefined || !/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent))
    return undefined
  return traceparent
}

function verbOf({ info, request }: RequestContext): string {
  const isPatch = info.isResource && info.verb === 'patch'
  const isApply = isPatch && request.headers['content-type']?.startsWith('application/apply-patch')
  return isApply ? 'apply' : info.verb
}
