/**
 * Canonical text of a pod template, equal for templates with the same meaning. Clients serialize templates
 * differently: Go clients omit empty values, hand-written manifests may contain them. Such a difference must
 * not trigger a rollout; but a label or node selector with an empty value is meaningful.
 */
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'

export function canonicalTemplate(template: PodTemplateSpec): string {
  return canonicalTexts.getOrInsertComputed(template, () => {
    return JSON.stringify(canonicalValue('', template) ?? null)
  })
}

/** Cached, since templates are immutable and compared repeatedly. */
const canonicalTexts = new WeakMap<PodTemplateSpec, string>()

/** The value with sorted keys and without meaningless parts; undefined if nothing remains. */
function canonicalValue(key: string, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'bigint') return String(value)
  if (value === '') return emptyTextFields.has(key) ? value : undefined
  if (value === false) return plainSwitches.has(key) ? undefined : value
  if (typeof value !== 'object') return value
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map(item => canonicalValue('', item) ?? {})
  const isMap = freeMaps.has(key)
  const entries = Object.entries(value)
    .map(([name, each]) => [name, isMap ? each : canonicalValue(name, each)] as const)
    .filter(([, each]) => each !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
  if (entries.length === 0 && (isMap || plainParts.has(key))) return undefined
  // As key-value pairs, since a map may have any key.
  return entries.flat()
}

/** Maps with user-defined keys: every entry is meaningful. */
const freeMaps: ReadonlySet<string> = new Set([
  'annotations',
  'labels',
  'limits',
  'matchLabels',
  'nodeSelector',
  'overhead',
  'requests',
  'volumeAttributes',
])

/** Objects for which empty equals absent; elsewhere `emptyDir: {}` is meaningful. */
const plainParts: ReadonlySet<string> = new Set(['metadata', 'resources'])

/** Booleans for which false equals absent. */
const plainSwitches: ReadonlySet<string> = new Set([
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'readOnly',
  'stdin',
  'stdinOnce',
  'tty',
])

/** Strings for which empty differs from absent. */
const emptyTextFields: ReadonlySet<string> = new Set(['runtimeClassName', 'storageClassName'])
