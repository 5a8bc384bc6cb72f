/** Plans the Ingresses of this controller into the configuration of the reverse proxy. */
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Ingress, IngressBackend, IngressClass } from '#/api/generated/networking/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type {
  Backend,
  PathMatch,
  ProxyConfiguration,
  ProxyRoute,
  ServerCertificate,
  VirtualHost,
} from '#/http-proxy/proxy-configuration.ts'
import { readIngressAnnotations, type IngressSettings } from './plan/ingress-annotations.ts'
import { planBackend, type BackendSources, type BackendTarget } from './plan/plan-backend.ts'

export const ingressControllerName = 'k8ts.io/ingress-controller'

export interface IngressState extends BackendSources {
  readonly ingresses: readonly Stored<Ingress>[]
  readonly classes: readonly IngressClass[]
  secret(namespace: string, name: string): Secret | undefined
}

export interface IngressPlanOptions {
  /** Address to listen at. */
  readonly host: string
  readonly httpPort: number
  readonly httpsPort: number
  /** For hosts without a certificate. */
  readonly defaultCertificate: { readonly cert: string; readonly key: string }
}

export interface IngressPlan {
  readonly configuration: ProxyConfiguration
  /** Keys of the Ingresses of this controller. */
  readonly served: ReadonlySet<string>
  /** Keys of services and secrets that these refer to. */
  readonly services: ReadonlySet<string>
  readonly secrets: ReadonlySet<string>
  readonly problems: readonly IngressProblem[]
}

export interface IngressProblem {
  /** Key of the Ingress. */
  readonly ingress: string
  readonly reason: string
  readonly message: string
}

export function planIngresses(state: IngressState, options: IngressPlanOptions): IngressPlan {
  const planner = new Planner(state)
  const served = state.ingresses.filter(ingress => isServed(ingress, state.classes)).toSorted(byAge)
  for (const ingress of served) planner.add(ingress)
  return { ...planner.result(options), served: new Set(served.map(keyOf)) }
}

const legacyClassAnnotation = 'kubernetes.io/ingress.class'
const defaultClassAnnotation = 'ingressclass.kubernetes.io/is-default-class'
/** For the legacy annotation there needs to be no IngressClass. */
export const ingressClassName = 'k8ts'

/** True if the Ingress is of a class of this controller. */
export function isServed({ metadata, spec }: Ingress, classes: readonly IngressClass[]): boolean {
  const ours = classes.filter(each => each.spec?.controller === ingressControllerName)
  const legacy = metadata.annotations?.[legacyClassAnnotation]
  const name = spec?.ingressClassName ?? legacy
  if (spec?.ingressClassName === undefined && legacy === ingressClassName) return true
  if (name !== undefined) return ours.some(each => each.metadata.name === name)
  return ours.some(each => each.metadata.annotations?.[defaultClassAnnotation] === 'true')
}

/** Of two Ingresses with the same host and path the older one counts. */
function byAge(a: Stored<Ingress>, b: Stored<Ingress>): number {
  const [one, other] = [a, b].map(
    ({ metadata }) => `${metadata.creationTimestamp ?? ''} ${keyOf({ metadata })}`,
  )
  return one! < other! ? -1 : 1
}

interface PlannedPath {
  readonly ingress: string
  readonly route: ProxyRoute
  readonly isRedirected: boolean
}

class Planner {
  readonly #state: IngressState
  /** By host name, then by type and value of the path. */
  readonly #hosts = new Map<string, Map<string, PlannedPath>>()
  readonly #backends = new Map<string, Backend>()
  readonly #certificates: ServerCertificate[] = []
  /** Host names with a certificate, and the Ingress that it is from. */
  readonly #certified = new Set<string>()
  readonly #services = new Set<string>()
  readonly #secrets = new Set<string>()
  readonly #problems: IngressProblem[] = []
  readonly #reported = new Set<string>()

  constructor(state: IngressState) {
    this.#state = state
  }

  add(ingress: Stored<Ingress>): void {
    const { metadata, spec = {} } = ingress
    const { rules = [], defaultBackend } = spec
    const key = keyOf(ingress)
    const settings = readIngressAnnotations(metadata.annotations)
    for (const message of settings.problems) this.#report(key, 'InvalidAnnotation', message)
    const tlsHosts = this.#addCertificates(ingress)
    const hosts = new Set(rules.map(({ host }) => host || '*'))
    const add = (host: string, path: AddedPath): void => {
      const isRedirected = settings.isSslRedirect && tlsHosts.has(host.toLowerCase())
      this.#addPath(host, {
        ingress: key,
        route: this.#routeOf(ingress, { ...path, settings }),
        isRedirected,
      })
    }
    for (const [index, { host, http }] of rules.entries())
      for (const [position, { path, pathType, backend }] of (http?.paths ?? []).entries())
        add(host || '*', {
          match: pathMatchOf(path, pathType),
          backend,
          id: `rule-${index}/path-${position}`,
        })
    if (defaultBackend === undefined) return
    const everything: PathMatch = { type: 'prefix', value: '/' }
    for (const host of new Set([...hosts, '*']))
      if (!this.#hosts.get(host)?.has(pathKey(everything)))
        add(host, { match: everything, backend: defaultBackend, id: 'default' })
  }

  result({ host, httpPort, httpsPort, defaultCertificate }: IngressPlanOptions): Omit<IngressPlan, 'served'> {
    const virtualHosts = (routeOf: (path: PlannedPath) => ProxyRoute): readonly VirtualHost[] =>
      [...this.#hosts].map(([hostname, paths]) => {
        const sorted = [...paths.values()].toSorted(byPrecedence)
        return { hostname, wildcard: 'one-label', routes: sorted.map(routeOf) }
      })
    const redirected = ({ route, isRedirected }: PlannedPath): ProxyRoute =>
      isRedirected ? redirectTo(route, httpsPort) : route
    const certificates = [...this.#certificates, { hostnames: [], ...defaultCertificate }]
    const at = { host, port: httpPort }
    const listeners = [
      {
        ...at,
        id: 'ingress-http',
        protocol: 'http',
        certificates: [],
        virtualHosts: virtualHosts(redirected),
      },
      {
        ...at,
        id: 'ingress-https',
        port: httpsPort,
        protocol: 'tls',
        certificates,
        virtualHosts: virtualHosts(({ route }) => route),
      },
    ] as const
    return {
      configuration: { listeners, backends: this.#backends },
      services: this.#services,
      secrets: this.#secrets,
      problems: this.#problems,
    }
  }

  #addPath(host: string, planned: PlannedPath): void {
    const hostname = host.toLowerCase()
    const paths = this.#hosts.getOrInsertComputed(hostname, () => new Map<string, PlannedPath>())
    const { path } = planned.route.match
    const key = pathKey(path)
    const known = paths.get(key)
    if (known === undefined) return void paths.set(key, planned)
    const where = `host ${hostname === '*' ? '(any)' : hostname}, path ${path.value}`
    const message = `${where} is already served by the older Ingress ${known.ingress}`
    if (known.ingress !== planned.ingress) this.#report(planned.ingress, 'HostPathConflict', message)
  }

  #routeOf(ingress: Stored<Ingress>, { match, backend, settings, id }: RouteParts): ProxyRoute {
    const { namespace = '', name } = ingress.metadata
    return {
      id: `ingress/${namespace}/${name}/${id}`,
      match: { path: match, headers: [], queryParameters: [] },
      filters: [],
      backends: [{ backend: this.#addBackend(ingress, backend, settings), weight: 1, filters: [] }],
      timeouts: settings.timeouts,
      ...(settings.bodyBytesMax !== undefined && { bodyBytesMax: settings.bodyBytesMax }),
      ...(settings.allowedClientCidrs && { allowedClientCidrs: settings.allowedClientCidrs }),
    }
  }

  /** Returns its id. */
  #addBackend(
    ingress: Stored<Ingress>,
    { service, resource }: IngressBackend,
    settings: IngressSettings,
  ): string {
    const { namespace = '' } = ingress.metadata
    if (service === undefined) {
      const what = `${resource?.kind ?? ''} ${resource?.name ?? ''}`
      const message = `backend ${what} is not a service: only services are supported`
      this.#report(keyOf(ingress), 'UnsupportedBackend', message)
    }
    const { protocol } = settings
    const target: BackendTarget = { namespace, name: service?.name ?? '', port: service?.port, protocol }
    if (service) this.#services.add(`${namespace}/${service.name}`)
    const { backend, problem } = planBackend(target, this.#state)
    if (problem && service) this.#report(keyOf(ingress), problem.reason, problem.message)
    this.#backends.set(backend.id, backend)
    return backend.id
  }

  /** Returns the hosts with TLS. */
  #addCertificates({ metadata, spec }: Stored<Ingress>): ReadonlySet<string> {
    const { namespace = '' } = metadata
    const tlsHosts = new Set<string>()
    for (const { hosts = [], secretName } of spec?.tls ?? []) {
      const named = hosts.length > 0 ? hosts : (spec?.rules ?? []).flatMap(({ host }) => host || [])
      const all = named.map(host => host.toLowerCase())
      for (const host of all) tlsHosts.add(host)
      if (!secretName) continue
      this.#secrets.add(`${namespace}/${secretName}`)
      const pair = this.#pairOf(keyOf({ metadata }), namespace, secretName)
      const hostnames = all.filter(host => !this.#certified.has(host))
      if (pair === undefined || hostnames.length === 0) continue
      for (const hostname of hostnames) this.#certified.add(hostname)
      this.#certificates.push({ hostnames, ...pair })
    }
    return tlsHosts
  }

  #pairOf(ingress: string, namespace: string, name: string) {
    const secret = this.#state.secret(namespace, name)
    if (secret === undefined) {
      this.#report(ingress, 'MissingSecret', `secret ${namespace}/${name} does not exist`)
      return undefined
    }
    const [cert, key] = ['tls.crt', 'tls.key'].map(field => decode(secret.data?.[field]))
    if (cert?.includes('-----BEGIN CERTIFICATE-----') && key?.includes('PRIVATE KEY-----'))
      return { cert, key }
    const message = `secret ${namespace}/${name} has no certificate and key in PEM in tls.crt and tls.key`
    this.#report(ingress, 'InvalidSecret', message)
    return undefined
  }

  #report(ingress: string, reason: string, message: string): void {
    const key = `${ingress} ${message}`
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    this.#problems.push({ ingress, reason, message })
  }
}

interface AddedPath {
  readonly match: PathMatch
  readonly backend: IngressBackend
  /** Of the route, within the Ingress. */
  readonly id: string
}

interface RouteParts extends AddedPath {
  readonly settings: IngressSettings
}

/** ImplementationSpecific is handled as Prefix. */
function pathMatchOf(path: string | undefined, pathType: string): PathMatch {
  return { type: pathType === 'Exact' ? 'exact' : 'prefix', value: path || '/' }
}

/** `/foo` and `/foo/` are the same prefix. */
function pathKey({ type, value }: PathMatch): string {
  return `${type} ${type === 'prefix' ? withoutSlash(value) : value}`
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

/** Exact paths first, then longer prefixes. */
function byPrecedence({ route: a }: PlannedPath, { route: b }: PlannedPath): number {
  const [one, other] = [a.match.path, b.match.path]
  if (one.type !== other.type) return one.type === 'exact' ? -1 : 1
  const difference = withoutSlash(other.value).length - withoutSlash(one.value).length
  return difference || (one.value < other.value ? -1 : 1)
}

function redirectTo(route: ProxyRoute, httpsPort: number): ProxyRoute {
  const filters = [{ type: 'redirect', scheme: 'https', port: httpsPort, status: 308 }] as const
  return { ...route, filters, backends: [] }
}

function decode(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString()
}
