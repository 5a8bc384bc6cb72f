/**
 * One request of a client from its head to the end of the response: finds the route, sends the request to an
 * endpoint, and passes the bodies on. A request that no endpoint has seen is sent to another one.
 */
import { fieldValue, type Fields, type RequestHead, type ResponseHead } from './message/head.ts'
import { reasonPhrase } from './message/format-head.ts'
import { EndpointOverloadError, type Endpoint } from './backends/endpoint.ts'
import { UnsendableRequestError } from './backends/http2-connection.ts'
import type { BackendPool } from './backends/backend-pool.ts'
import type { ExchangeContext } from './exchange-context.ts'
import { MirrorRequest } from './mirror-request.ts'
import { attemptsMax } from './proxy-limits.ts'
import type { ProxyRoute } from './proxy-configuration.ts'
import { matchRoute } from './routing/match-route.ts'
import { applyChanges, planRequest, type ForwardPlan } from './routing/plan-request.ts'
import type { BackendEvents, BackendFailure, BackendRequest, BackendStream, ClientStream } from './streams.ts'
import { Tunnel } from './tunnel.ts'
import type { Timer } from '#/platform/platform.ts'

export class Exchange implements BackendEvents {
  readonly #context: ExchangeContext
  readonly #client: ClientStream
  readonly #head: RequestHead
  readonly #startedMs: number
  #route: ProxyRoute | undefined
  #plan: ForwardPlan | undefined
  #request: BackendRequest | undefined
  #pool: BackendPool | undefined
  #endpoint: Endpoint | undefined
  #backend: BackendStream | undefined
  #mirrors: readonly MirrorRequest[] = []
  readonly #excluded: Endpoint[] = []
  #connecting: AbortController | undefined
  #requestTimer: Timer | undefined
  #attemptTimer: Timer | undefined
  /** When the backend last sent or took something. */
  #progressMs: number
  #attempts = 0
  #status = 0
  #requestBytes = 0
  #responseBytes = 0
  #isBodyStarted = false
  #isRequestDone = false
  #isClientPaused = false
  #isFinished = false

  constructor(context: ExchangeContext, client: ClientStream, head: RequestHead) {
    this.#context = context
    this.#client = client
    this.#head = head
    this.#startedMs = context.core.clock.monotonicMs()
    this.#progressMs = this.#startedMs
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  start(): void {
    const { core, table } = this.#context
    const compiled = matchRoute(table, this.#head)
    if (compiled === undefined) return this.#respond(404)
    const { route } = compiled
    this.#route = route
    const { bodyBytesMax, allowedClientCidrs } = route
    if (allowedClientCidrs !== undefined && !this.#context.isClientIn(allowedClientCidrs))
      return this.#respond(403)
    const { scheme, port } = this.#context
    const { method, hostname, path, target, fields, authority, bodyLength } = this.#head
    const request = { method, hostname, path, target, fields, authority, scheme, port }
    const plan = planRequest(compiled, request, core.draw)
    if (plan.type === 'respond') return this.#respond(plan.status, plan.fields)
    if (bodyBytesMax !== undefined && bodyLength > bodyBytesMax) return this.#respond(413)
    this.#plan = plan
    this.#pool = core.backends.get(plan.backend)
    this.#request = this.#backendRequest(plan)
    const { requestMs } = route.timeouts
    if (requestMs) this.#requestTimer = core.clock.setTimer(requestMs, () => this.#timedOut())
    if (plan.mirrors.length > 0) this.#startMirrors(plan.mirrors, this.#request)
    this.#attempt()
  }

  #backendRequest({ fields, authority, target }: ForwardPlan): BackendRequest {
    const { method, bodyLength, upgrade, expects, acceptsTrailers } = this.#head
    const { clientAddress, scheme, port, core } = this.#context
    const id = fieldValue(fields, 'x-request-id')
    if (id === undefined) fields.push('x-request-id', core.nextRequestId())
    const forwardedPort = String(port)
    fields.push('x-forwarded-for', clientAddress, 'x-forwarded-proto', scheme)
    fields.push('x-forwarded-host', this.#head.authority, 'x-forwarded-port', forwardedPort)
    fields.push('x-real-ip', clientAddress)
    return { method, target, authority, scheme, fields, bodyLength, upgrade, expects, acceptsTrailers }
  }

  /** Sends the request to an endpoint that has not been tried. */
  #attempt(): void {
    const { core, clientAddress } = this.#context
    const choice = { clientAddress, excluded: this.#excluded, nowMs: core.clock.monotonicMs() }
    const endpoint = this.#pool?.choose(choice)
    if (endpoint === undefined) return this.#respond(this.#excluded.length > 0 ? 502 : 503)
    this.#attempts++
    this.#endpoint = endpoint
    endpoint.outstanding++
    this.#progressMs = choice.nowMs
    const { connectMs, backendRequestMs } = this.#route!.timeouts
    if (backendRequestMs) this.#attemptTimer = core.clock.setTimer(backendRequestMs, () => this.#timedOut())
    const connecting = new AbortController()
    const isRepeatable = repeatableMethods.has(this.#head.method) && this.#head.bodyLength === 0
    const timeoutMs = connectMs || core.limits.connectTimeoutMs
    const opened = endpoint.open(this.#request!, this, { isRepeatable, signal: connecting.signal, timeoutMs })
    if (!(opened instanceof Promise)) return this.#opened(opened)
    this.#connecting = connecting
    opened.then(
      stream => (this.#connecting === connecting ? this.#opened(stream) : stream.abort()),
      (error: unknown) => {
        if (this.#connecting === connecting) this.#notReached(error)
      },
    )
  }

  #opened(stream: BackendStream): void {
    this.#connecting = undefined
    this.#backend = stream
    if (this.#head.bodyLength === 0) {
      this.#isRequestDone = true
      stream.end([])
    } else if (!this.#isBodyStarted) {
      this.#isBodyStarted = true
      this.#client.readBody()
    }
  }

  /** Nothing of the request has been sent. */
  #notReached(error: unknown): void {
    const { core } = this.#context
    this.#connecting = undefined
    if (error instanceof UnsendableRequestError) return this.#respond(400)
    const isOverloaded = error instanceof EndpointOverloadError
    if (!isOverloaded) this.#endpoint!.refused(core.clock.monotonicMs())
    core.backendFailed(this.#plan!.backend, isOverloaded ? 'overload' : 'unreachable', error)
    this.#excluded.push(this.#endpoint!)
    this.#leaveEndpoint()
    if (this.#attempts >= attemptsMax) return this.#respond(isOverloaded ? 503 : 502)
    core.metrics.retries.with(this.#plan!.backend).add()
    this.#attempt()
  }

  #leaveEndpoint(): void {
    this.#attemptTimer?.cancel()
    this.#attemptTimer = undefined
    this.#backend = undefined
    if (this.#endpoint === undefined) return
    this.#endpoint.outstanding--
    this.#endpoint = undefined
  }

  onRequestData(bytes: Uint8Array): void {
    if (this.#isFinished || this.#isRequestDone) return
    this.#requestBytes += bytes.length
    const { bodyBytesMax = Infinity } = this.#route ?? {}
    if (this.#requestBytes > bodyBytesMax) {
      this.#backend?.abort()
      return this.#respond(413)
    }
    this.#progressMs = this.#context.core.clock.monotonicMs()
    for (const mirror of this.#mirrors) mirror.write(bytes)
    if (this.#backend?.write(bytes) === false) {
      this.#isClientPaused = true
      this.#client.pauseBody()
    }
  }

  onRequestEnd(trailers: Fields): void {
    if (this.#isFinished || this.#isRequestDone) return
    this.#isRequestDone = true
    for (const mirror of this.#mirrors) mirror.end()
    this.#backend?.end(trailers)
  }

  onMalformedBody(): void {
    if (this.#isFinished) return
    this.#abortBackend()
    if (this.#status === 0) return this.#respond(400)
    this.#client.abort()
    this.#finish()
  }

  onClientDrain(): void {
    this.#progressMs = this.#context.core.clock.monotonicMs()
    this.#backend?.resume()
  }

  /** The client is gone. */
  onClientClose(): void {
    if (this.#isFinished) return
    if (this.#status === 0) this.#status = clientClosedStatus
    this.#abortBackend()
    this.#finish()
  }

  onBackendDrain(): void {
    this.#progressMs = this.#context.core.clock.monotonicMs()
    if (!this.#isClientPaused) return
    this.#isClientPaused = false
    this.#client.resumeBody()
  }

  onInformation(status: number, fields: Fields): void {
    this.#client.inform(status, fields)
  }

  onResponse(head: ResponseHead): void {
    const { status, bodyLength, declaredLength, upgrade } = head
    this.#status = status
    this.#endpoint?.succeeded()
    const { responseChanges } = this.#plan!
    const fields = responseChanges.length === 0 ? head.fields : applyChanges(head.fields, responseChanges)
    this.#client.respond({ status, fields, bodyLength, declaredLength, upgrade })
    if (upgrade !== undefined) this.#startTunnel()
  }

  onResponseData(bytes: Uint8Array): void {
    this.#responseBytes += bytes.length
    if (!this.#client.write(bytes)) this.#backend?.pause()
  }

  onResponseEnd(trailers: Fields): void {
    if (this.#isFinished) return
    // What is left of the request would be read as the next one.
    if (!this.#isRequestDone) this.#backend?.abort()
    this.#client.end(trailers)
    this.#finish()
  }

  onBackendIdle(): void {
    this.#progressMs = this.#context.core.clock.monotonicMs()
    if (!this.#isFinished) this.#client.flush()
  }

  onBackendFailure({ reason, isStale, isRefused }: BackendFailure): void {
    if (this.#isFinished) return
    const { core } = this.#context
    const { method, bodyLength } = this.#head
    const isRepeatable = repeatableMethods.has(method) && bodyLength === 0
    const canRepeat = (isStale && isRepeatable) || (isRefused && bodyLength === 0)
    if (canRepeat && this.#status === 0 && this.#attempts < attemptsMax) {
      this.#leaveEndpoint()
      core.metrics.retries.with(this.#plan!.backend).add()
      return this.#attempt()
    }
    core.backendFailed(this.#plan!.backend, reason, undefined)
    if (this.#status === 0) return this.#respond(502)
    this.#client.abort()
    this.#finish()
  }

  /** Checks timeouts that need no precision. */
  sweep(nowMs: number): void {
    if (this.#isFinished || this.#plan === undefined || this.#status === 101) return
    const { requestMs, backendRequestMs, backendIdleMs } = this.#route!.timeouts
    const isUnlimited = requestMs === 0 || backendRequestMs === 0
    const limitMs = backendIdleMs ?? (isUnlimited ? 0 : this.#context.core.limits.backendTimeoutMs)
    if (limitMs > 0 && nowMs - this.#progressMs > limitMs) this.#timedOut()
  }

  #timedOut(): void {
    if (this.#isFinished) return
    this.#context.core.backendFailed(this.#plan!.backend, 'timeout', undefined)
    this.#abortBackend()
    if (this.#status === 0) return this.#respond(504)
    this.#client.abort()
    this.#finish()
  }

  #abortBackend(): void {
    this.#connecting?.abort()
    this.#connecting = undefined
    this.#backend?.abort()
  }

  #startMirrors(backends: readonly string[], request: BackendRequest): void {
    const { core, clientAddress } = this.#context
    this.#mirrors = backends.flatMap(id => {
      const pool = core.backends.get(id)
      const endpoint = pool?.choose({ clientAddress, excluded: [], nowMs: this.#startedMs })
      return endpoint ? [new MirrorRequest(endpoint, request, core.limits)] : []
    })
    for (const mirror of this.#mirrors) mirror.start()
  }

  #startTunnel(): void {
    const client = this.#client.detach()
    const backend = this.#backend?.detach()
    const { core } = this.#context
    if (client === undefined || backend === undefined) {
      client?.connection.destroy()
      backend?.connection.destroy()
      return this.#finish()
    }
    const tunnel = new Tunnel(client, backend, () => {
      core.tunnels.delete(tunnel)
      this.#finish()
    })
    core.tunnels.add(tunnel)
    tunnel.start(core.clock)
  }

  /** A response of the proxy itself. */
  #respond(status: number, extra: Fields = []): void {
    if (this.#isFinished || this.#status !== 0) return
    this.#status = status
    const hasBody = status >= 300 && status !== 304 && this.#head.method !== 'HEAD'
    const body = hasBody ? Buffer.from(`${status} ${reasonPhrase(status)}\n`) : undefined
    const fields = [...extra, ...(body ? ['content-type', 'text/plain; charset=utf-8'] : [])]
    const bodyLength = body?.length ?? 0
    this.#client.respond({ status, fields, bodyLength, declaredLength: undefined, upgrade: undefined })
    if (body) this.#client.write(body)
    this.#responseBytes = bodyLength
    this.#client.end([])
    this.#finish()
  }

  #finish(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    for (const mirror of this.#mirrors) mirror.end()
    this.#requestTimer?.cancel()
    this.#leaveEndpoint()
    const { core, clientAddress } = this.#context
    const tookMs = core.clock.monotonicMs() - this.#startedMs
    const { method, target, authority, fields } = this.#head
    const route = this.#route?.id ?? ''
    core.metrics.finished({ route, method, status: this.#status, seconds: tookMs / 1_000 })
    core.logAccess?.({
      client: clientAddress,
      method,
      host: authority,
      target: target.length > targetLoggedMax ? `${target.slice(0, targetLoggedMax)}...` : target,
      status: this.#status,
      requestBytes: this.#requestBytes,
      responseBytes: this.#responseBytes,
      durationMs: Math.round(tookMs * 10) / 10,
      route,
      backend: this.#plan?.backend ?? '',
      attempts: this.#attempts,
      requestId: fieldValue(fields, 'x-request-id') ?? '',
    })
  }
}

/** As nginx logs a request whose client has closed the connection before the response. */
const clientClosedStatus = 499

const targetLoggedMax = 2_000

/** Idempotent methods (RFC 9110, section 9.2.2) without those that usually have a body. */
const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'DELETE'])
