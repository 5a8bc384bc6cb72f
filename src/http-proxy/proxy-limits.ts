/** Limits of the proxy. A client that exceeds one is refused or closed without effect on the others. */
export interface ProxyLimits {
  /**
   * Client connections of all listeners. At the bound the address with the most connections loses its oldest.
   */
  readonly connectionsMax: number
  /** The head of a request; a larger one gets 431. */
  readonly headerBytesMax: number
  /** From the first byte of a request, or the beginning of a connection, to the end of the head; then 408. */
  readonly headerTimeoutMs: number
  /** A connection without a request. */
  readonly idleTimeoutMs: number
  /** A request body or a response of which nothing moves for this long because of the client. */
  readonly stallTimeoutMs: number
  /** Further ones need a new connection, so that load spreads over processes and memory is released. */
  readonly requestsPerConnectionMax: number
  /** Concurrent streams of an HTTP/2 connection. */
  readonly streamsMax: number
  readonly resetsBurst: number
  readonly resetsPerSecond: number
  readonly controlFramesBurst: number
  readonly controlFramesPerSecond: number
  /** For one attempt to connect to an endpoint. */
  readonly connectTimeoutMs: number
  /** A backend that sends nothing for this long while a response is due; then 504. */
  readonly backendTimeoutMs: number
  /** The head of a response of a backend; a larger one gets 502. */
  readonly backendHeaderBytesMax: number
  /** Connections to one endpoint, idle ones included; beyond it the response is 503. */
  readonly endpointConnectionsMax: number
  /** Connections to one endpoint that wait for requests. */
  readonly endpointIdleMax: number
  readonly endpointIdleTimeoutMs: number
  /** An upgraded connection on which nothing moves. */
  readonly tunnelTimeoutMs: number
  /**
   * Bytes of a request body that are copied for a mirror that is slower than the backend; past it the copy
   * ends.
   */
  readonly mirrorBytesMax: number
}

export const defaultProxyLimits: ProxyLimits = {
  connectionsMax: 16_384,
  headerBytesMax: 32 * 1024,
  headerTimeoutMs: 30_000,
  idleTimeoutMs: 75_000,
  stallTimeoutMs: 60_000,
  requestsPerConnectionMax: 100_000,
  streamsMax: 128,
  resetsBurst: 1_000,
  resetsPerSecond: 50,
  controlFramesBurst: 1_000,
  controlFramesPerSecond: 20,
  connectTimeoutMs: 5_000,
  backendTimeoutMs: 60_000,
  backendHeaderBytesMax: 64 * 1024,
  endpointConnectionsMax: 4_096,
  endpointIdleMax: 256,
  endpointIdleTimeoutMs: 60_000,
  tunnelTimeoutMs: 3_600_000,
  mirrorBytesMax: 256 * 1024,
}

/** Retries of a request that no endpoint has seen. */
export const attemptsMax = 3
