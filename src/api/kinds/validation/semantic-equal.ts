/**
 * Semantic equality of API values. An empty list or map equals an absent one, and so does an empty string,
 * zero or false, except in fields where those differ from absent: Go clients drop empty values when they
 * write an object back, which must not count as a change.
 */

/** Not for free-form JSON: it recurses to the depth of the value, which only an API type bounds. */
export function semanticEqual(a: unknown, b: unknown): boolean {
  return same(a, b, false)
}

function same(a: unknown, b: unknown, tellsZero: boolean): boolean {
  if (a === b) return true
  if (isEmpty(a, tellsZero) && isEmpty(b, tellsZero)) return true
  if (typeof a === 'bigint' || typeof b === 'bigint') {
    return isNumber(a) && isNumber(b) && BigInt(a) === BigInt(b)
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameLists(a, b)
  return sameMaps(a, b)
}

function isEmpty(value: unknown, tellsZero: boolean): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'object') return Object.values(value).every(each => each === undefined)
  return !tellsZero && (value === '' || value === 0 || value === false)
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
}

function sameLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => same(item, b[index], true))
}

function sameMaps(a: object, b: object): boolean {
  const left = new Map<string, unknown>(Object.entries(a))
  const right = new Map<string, unknown>(Object.entries(b))
  for (const [key, value] of left) if (!same(value, right.get(key), zeroIsAnAnswer.has(key))) return false
  for (const [key, value] of right)
    if (!left.has(key) && !isEmpty(value, zeroIsAnAnswer.has(key))) return false
  return true
}

/** Optional fields in which zero, false or an empty string differs from absent. */
const zeroIsAnAnswer: ReadonlySet<string> = new Set([
  'activeDeadlineSeconds',
  'allowPrivilegeEscalation',
  'automountServiceAccountToken',
  'backoffLimit',
  'backoffLimitPerIndex',
  'completions',
  'defaultMode',
  'enableServiceLinks',
  'expirationSeconds',
  'fsGroup',
  'hostProcess',
  'hostUsers',
  'maxFailedIndexes',
  'mode',
  'optional',
  'parallelism',
  'priority',
  'privileged',
  'readOnlyRootFilesystem',
  'replicas',
  'revisionHistoryLimit',
  'runAsGroup',
  'runAsNonRoot',
  'runAsUser',
  'runtimeClassName',
  'setHostnameAsFQDN',
  'shareProcessNamespace',
  'storageClassName',
  'succeededCount',
  'suspend',
  'terminationGracePeriodSeconds',
  'tolerationSeconds',
  'ttlSecondsAfterFinished',
])
