/**
 * Replaces what must differ between two servers by placeholders, so that a missing value still differs from one
 * that is there. Pure.
 */
export interface NormalizeContext {
  /** `host:port` of the server that answered. */
  readonly address: string
  /** Path with query, and body of the request: allocated values that the client itself sent are kept. */
  readonly sent: string
  readonly path: string
}

export function normalizeBody(body: unknown, context: NormalizeContext): unknown {
  if (Array.isArray(body)) return walk(body.filter(isEvent), '', context)
  const value = /^\/(?:version|openid)/.test(context.path) ? onlyKeys(body) : body
  return walk(value, '', context)
}

/** Servers send bookmarks when they like, except for the one that ends the initial events. */
function isEvent(event: unknown): boolean {
  const { type } = event as { readonly type?: unknown }
  return type !== 'BOOKMARK' || JSON.stringify(event).includes('k8s.io/initial-events-end')
}

function walk(value: unknown, key: string, context: NormalizeContext): unknown {
  if (typeof value === 'string') return normalizeText(value, key, context)
  if (typeof value === 'number') {
    // The service `kubernetes` leads to the port of the server.
    const isOwnPort = key === 'targetPort' && context.address.endsWith(`:${value}`)
    return isAllocated(key, value, context) || isOwnPort ? '<allocated>' : value
  }
  if (Array.isArray(value)) return value.map(each => walk(each, key, context))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(withSortedNames(withSortedRules(withoutSuffix(value as Fields))))
  return Object.fromEntries(
    entries.map(([name, each]) => [normalizeKey(name), walk(each, name, context)] as const),
  )
}

type Fields = Readonly<Record<string, unknown>>

/** Fields whose values a server allocates. */
const allocated: ReadonlySet<string> = new Set([
  'clusterIP',
  'clusterIPs',
  'nodePort',
  'healthCheckNodePort',
  'continue',
  'expirationTimestamp',
  'id_token_signing_alg_values_supported',
  'serverAddress',
  'jwks_uri',
])

function isAllocated(key: string, value: number | string, { sent }: NormalizeContext): boolean {
  return allocated.has(key) && value !== '' && value !== 'None' && !sent.includes(String(value))
}

/** Times of examples are in 2001, and all others are of the servers' clocks. */
const time = /\b(?!2001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g
const uid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g
const token = /\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*/g
/** Names with a random suffix and versions in texts, and the hash of an OpenAPI document. */
const suffixes: readonly (readonly [RegExp, string])[] = [
  [/\bkube-api-access-[a-z0-9]{5}\b/g, 'kube-api-access-<suffix>'],
  [
    /\b(ResourceVersion in object meta: |resource version: \d+, current: |resource version: \d+ \()\d+/g,
    '$1<resourceVersion>',
  ],
  [/(resourceVersion\\*":\\*"|ResourceVersion in record \()[1-9]\d*/g, '$1<resourceVersion>'],
  [/\?hash=[0-9A-F]+/g, '?hash=<hash>'],
  [/\bcompare-generated-[a-z0-9]{5}\b/g, 'compare-generated-<suffix>'],
]

/** Relative to now: the AGE of a Table, and the seconds in texts such as "retry after 1s". */
const age = /^\d+[smh](?:\d+[sm])?$/
const clusterIp = /^10\.\d+\.\d+\.\d+$/

function normalizeText(text: string, key: string, context: NormalizeContext): string {
  if (key === 'resourceVersion' && /^[1-9]\d*$/.test(text)) return '<resourceVersion>'
  if (isAllocated(key, text, context)) return '<allocated>'
  if (key === 'cells' && age.test(text)) return '<age>'
  if (key === 'cells' && clusterIp.test(text) && !context.sent.includes(text)) return '<allocated>'
  let normal = text.replaceAll(time, found => `<time ${found.replaceAll(/\d/g, '0')}>`)
  normal = normal
    .replaceAll(uid, '<uid>')
    .replaceAll(token, '<token>')
    .replaceAll(certificate, '<certificate>')
    .replaceAll(context.address, '<server>')
  for (const [pattern, replacement] of suffixes) normal = normal.replaceAll(pattern, replacement)
  return normal
}

/** Keys in `managedFields` contain values, too. */
function normalizeKey(name: string): string {
  return name.includes('kube-api-access-') ? name.replaceAll(suffixes[0]![0], suffixes[0]![1]) : name
}

/** The name of an object that was created with `generateName`. */
function withoutSuffix(value: Fields): Fields {
  const { name, generateName } = value
  if (typeof name !== 'string' || typeof generateName !== 'string' || !name.startsWith(generateName))
    return value
  return { ...value, name: `${generateName}<suffix>` }
}

/** In a schema, `required` is a set. */
function withSortedNames(value: Fields): Fields {
  const { required } = value
  const isSet = Array.isArray(required) && 'properties' in value
  return isSet ? { ...value, required: [...(required as readonly string[])].sort() } : value
}

/** The rules of a SelfSubjectRulesReview come in the order of a map, which kube-apiserver draws for each request. */
function withSortedRules(value: Fields): Fields {
  const { resourceRules, nonResourceRules } = value
  if (!Array.isArray(resourceRules) || !Array.isArray(nonResourceRules)) return value
  const sorted = (rules: readonly unknown[]): readonly unknown[] =>
    rules
      .map(rule => JSON.stringify(rule))
      .sort()
      .map(text => JSON.parse(text) as unknown)
  return { ...value, resourceRules: sorted(resourceRules), nonResourceRules: sorted(nonResourceRules) }
}

/** Versions and keys are a server's own. */
function onlyKeys(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.keys(body).map(key => [key, '<own>']))
}

/** Headers that clients use. The values of some must differ. */
const comparedHeaders: readonly string[] = [
  'allow',
  'cache-control',
  'content-type',
  'location',
  'retry-after',
  'www-authenticate',
  'x-content-type-options',
]
const presentHeaders: readonly string[] = [
  'audit-id',
  'date',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
]

export function normalizeHeaders(
  headers: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const kept = comparedHeaders.flatMap(name => (headers[name] === undefined ? [] : [[name, headers[name]]]))
  const present = presentHeaders.flatMap(name => (headers[name] === undefined ? [] : [[name, '<present>']]))
  return Object.fromEntries([...kept, ...present]) as Readonly<Record<string, string>>
}

/** The texts of the `Warning` header, in order. */
export function warningsOf(headers: Readonly<Record<string, string | undefined>>): readonly string[] {
  const { warning = '' } = headers
  return warning === '' ? [] : warning.split(/,\s*(?=299 )/)
}
