import { parseIntOrString } from '#/api/text/int-or-string.ts'
import type { JsonObject } from '#/api/text/json-object.ts'

export interface IngressContent {
  readonly className: string
  /** `web:80`; empty without a default backend. */
  readonly defaultBackend: string
  /** `shop.example.com/path*=web:80,tls=certificate`. */
  readonly rules: readonly string[]
}

/** The spec of an Ingress. Throws Error for malformed rules and without anything to route. */
export function planIngressSpec({ className, defaultBackend, rules }: IngressContent): JsonObject {
  const parsed = rules.map(parseRule)
  const tls = planTls(parsed)
  return {
    ...(className !== '' && { ingressClassName: className }),
    ...(defaultBackend !== '' && { defaultBackend: backendOf(defaultBackend) }),
    ...(tls.length > 0 && { tls }),
    ...(parsed.length > 0 && { rules: planRules(parsed) }),
  }
}

export function validateIngress(
  { defaultBackend, rules }: IngressContent,
  annotations: readonly string[],
): void {
  if (defaultBackend === '' && rules.length === 0) throw new Error(nothingToRoute)
  for (const rule of rules) parseRule(rule)
  const malformed = annotations.find(each => !each.includes('='))
  if (malformed !== undefined) {
    throw new Error(`annotation ${malformed} is invalid and should be in format key=[value]`)
  }
  if (defaultBackend !== '' && defaultBackend.split(':').length !== 2) {
    throw new Error('default-backend should be in format servicename:serviceport')
  }
}

const nothingToRoute =
  'not enough information provided: every ingress has to either specify a default-backend (which catches all ' +
  'traffic) or a list of rules (which catch specific paths)'

interface Rule {
  readonly host: string
  readonly path: JsonObject
  /** Name of the secret, empty for the default certificate; undefined without TLS. */
  readonly secret: string | undefined
}

const rulePattern = /^([\w*.-]*)(\/.*)=([\w-]+:[\w-]+)(?:,(?:tls=?([\w-]*))?)?/

function parseRule(text: string): Rule {
  if (!rulePattern.test(text)) {
    throw new Error(
      `rule ${text} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]`,
    )
  }
  const [route = '', tls, ...more] = text.split(',')
  const slash = route.indexOf('/')
  const [path = '', service = ''] = route.slice(slash).split('=')
  const isPrefix = path.endsWith('*')
  return {
    host: text.slice(0, slash),
    path: {
      path: isPrefix ? path.slice(0, -1) : path,
      pathType: isPrefix ? 'Prefix' : 'Exact',
      backend: backendOf(service),
    },
    secret: tls === undefined || more.length > 0 ? undefined : (tls.split('=')[1] ?? ''),
  }
}

function backendOf(text: string): JsonObject {
  const [name = '', port = ''] = text.split(':')
  const value = parseIntOrString(port)
  return { service: { name, port: typeof value === 'number' ? { number: value } : { name: value } } }
}

/** One rule for each host, in the order of the hosts' first rules. */
function planRules(rules: readonly Rule[]): JsonObject[] {
  return [...Map.groupBy(rules, ({ host }) => host)].map(([host, ofHost]) => ({
    ...(host !== '' && { host }),
    http: { paths: ofHost.map(({ path }) => path) },
  }))
}

/** One entry for each secret. Only the first secret of a host counts. */
function planTls(rules: readonly Rule[]): JsonObject[] {
  const hostsBySecret = new Map<string, string[]>()
  const known = new Set<string>()
  for (const { host, secret } of rules) {
    if (secret === undefined || known.has(host)) continue
    known.add(host)
    const hosts = hostsBySecret.getOrInsertComputed(secret, () => [])
    if (host !== '') hosts.push(host)
  }
  return [...hostsBySecret]
    .filter(([secret, hosts]) => secret !== '' || hosts.length > 0)
    .map(([secret, hosts]) => ({
      ...(hosts.length > 0 && { hosts }),
      ...(secret !== '' && { secretName: secret }),
    }))
}
