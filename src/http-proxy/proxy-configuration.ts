/**
 * The configuration of the reverse proxy: what it listens on, how requests are matched, and where they go. Ingress and
 * Gateway API objects are planned into it (pure functions), and the proxy applies a new configuration without closing
 * connections. Nothing here knows Kubernetes objects: names are opaque, for logs, metrics and the access log.
 */

export interface ProxyConfiguration {
  readonly listeners: readonly ProxyListener[]
  /** By `Backend.id`. */
  readonly backends: ReadonlyMap<string, Backend>
}

/** One socket. At most one listener has an address and port. */
export interface ProxyListener {
  readonly id: string
  readonly host: string
  readonly port: number
  /** The port that clients connect to, for X-Forwarded-Port and redirects; `port` when absent. */
  readonly externalPort?: number
  /** `tls` terminates TLS; `passthrough` forwards connections by their SNI without decrypting them. */
  readonly protocol: 'http' | 'tls' | 'passthrough'
  /** For `tls`: chosen by SNI, the most specific name first; then the default one. Without one, the handshake fails. */
  readonly certificates: readonly ServerCertificate[]
  /** Requests go to the most specific virtual host that matches their host, and never to a less specific one. */
  readonly virtualHosts: readonly VirtualHost[]
}

export interface ServerCertificate {
  /** Lower case; `*.example.com` matches one label. Empty: the default certificate of the listener. */
  readonly hostnames: readonly string[]
  /** PEM, the leaf first. */
  readonly cert: string
  readonly key: string
}

export interface VirtualHost {
  /** Lower case and without a port. `*` matches every host. */
  readonly hostname: string
  /** `one-label` for Ingress, where `*.example.com` matches one label; `any-labels` for the Gateway API. */
  readonly wildcard: 'one-label' | 'any-labels'
  /** In order of precedence: the first route that matches is used. Without one the response is 404. */
  readonly routes: readonly ProxyRoute[]
}

export interface ProxyRoute {
  /** For example `ingress/default/web` or `httproute/default/web/rule-0`. */
  readonly id: string
  readonly match: RouteMatch
  readonly filters: readonly RouteFilter[]
  /** The weights are relative; without a backend of weight above 0 the response is 500, or 503 without endpoints. */
  readonly backends: readonly WeightedBackend[]
  readonly timeouts: RouteTimeouts
  /** Greatest size of a request body; a larger one gets 413. Undefined means no limit. */
  readonly bodyBytesMax?: number
  /** Other clients get 403. Undefined: all are allowed. */
  readonly allowedClientCidrs?: readonly string[]
}

export interface RouteMatch {
  readonly path: PathMatch
  /** Upper case. */
  readonly method?: string
  readonly headers: readonly ValueMatch[]
  readonly queryParameters: readonly ValueMatch[]
}

/** `prefix` matches whole elements: `/foo` matches `/foo` and `/foo/bar`, not `/foobar`. */
export interface PathMatch {
  readonly type: 'exact' | 'prefix' | 'regular-expression'
  readonly value: string
}

export interface ValueMatch {
  /** Lower case for headers. */
  readonly name: string
  readonly type: 'exact' | 'regular-expression'
  readonly value: string
}

export type RouteFilter =
  | { readonly type: 'request-headers'; readonly change: HeaderChange }
  | { readonly type: 'response-headers'; readonly change: HeaderChange }
  | {
      readonly type: 'redirect'
      readonly scheme?: 'http' | 'https'
      readonly hostname?: string
      readonly port?: number
      readonly path?: PathRewrite
      readonly status: 301 | 302 | 303 | 307 | 308
    }
  | { readonly type: 'rewrite'; readonly hostname?: string; readonly path?: PathRewrite }
  /** A copy of the request is sent to the backend, whose response is ignored. */
  | { readonly type: 'mirror'; readonly backend: string; readonly percent: number }
  | { readonly type: 'respond'; readonly status: number }

export interface HeaderChange {
  readonly set: readonly HeaderValue[]
  readonly add: readonly HeaderValue[]
  readonly remove: readonly string[]
}

export interface HeaderValue {
  readonly name: string
  readonly value: string
}

/** `prefix` replaces the matched prefix of the route's path. */
export interface PathRewrite {
  readonly type: 'full' | 'prefix'
  readonly value: string
}

export interface WeightedBackend {
  /** Undefined for a reference that cannot be resolved: its share of the requests gets 500. */
  readonly backend: string | undefined
  readonly weight: number
  /** Applied after those of the route. */
  readonly filters: readonly RouteFilter[]
}

/** Undefined means the default of the proxy; 0 means no limit. */
export interface RouteTimeouts {
  /** From the request's head to the end of the response; past it the response is 504. */
  readonly requestMs?: number
  /** One attempt at a backend. */
  readonly backendRequestMs?: number
  /** The backend neither sends nor takes anything; past it the response is 504, or ends if it has begun. */
  readonly backendIdleMs?: number
  /** One attempt to connect to an endpoint. */
  readonly connectMs?: number
}

export interface Backend {
  /** For example `default/web:80`. */
  readonly id: string
  /** `http2` is HTTP/2 without TLS (h2c), as gRPC needs it. */
  readonly protocol: 'http1' | 'http2' | 'https1' | 'https2'
  /** For `https*`: the name in SNI and certificate, and the CA that has signed it. */
  readonly tls?: { readonly serverName: string; readonly ca: string | undefined }
  readonly endpoints: readonly BackendEndpoint[]
  /** Requests with the same client address go to the same endpoint while it exists (`sessionAffinity`). */
  readonly hasClientAffinity: boolean
}

export interface BackendEndpoint {
  readonly address: string
  readonly port: number
}

/** A producer of a part of the configuration: the Ingress controller, the Gateway controller. */
export interface ConfigurationSource {
  /** Undefined until the source has read everything it needs. */
  readonly configuration: ProxyConfiguration | undefined
  /** Calls back after every change of `configuration`. */
  onChange(callback: () => void): void
  run(signal: AbortSignal): Promise<void>
}
