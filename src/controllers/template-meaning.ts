/**
 * What a pod template means, as a text that is the same for templates that mean the same. Clients write templates in
 * different ways: Go's drop what is empty, people write it down. That must not look like a change, for every change is
 * a rollout; but a label or a node selector with an empty value is one.
 */
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'

export function templateMeaning(template: PodTemplateSpec): string {
  const known = meanings.get(template)
  if (known !== undefined) return known
  const meaning = JSON.stringify(essence('', template) ?? null)
  meanings.set(template, meaning)
  return meaning
}

/** Templates are immutable, and each is looked at again and again. */
const meanings = new WeakMap<PodTemplateSpec, string>()

/** The value with its keys in order and without what means nothing; undefined when all of it means nothing. */
function essence(key: string, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'bigint') return String(value)
  if (value === '') return emptyTextFields.has(key) ? value : undefined
  if (value === false) return plainSwitches.has(key) ? undefined : value
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(item => essence('', item) ?? {})
  const isMap = freeMaps.has(key)
  const entries = Object.entries(value)
    .map(([name, each]) => [name, isMap ? each : essence(name, each)] as const)
    .filter(([, each]) => each !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
  if (entries.length === 0 && (isMap || plainParts.has(key))) return undefined
  // As pairs, for a map may have any key.
  return entries.flat()
}

/** Maps whose keys are the user's: every entry means something. */
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

/** Parts for which empty and absent are the same; elsewhere `emptyDir: {}` says something. */
const plainParts: ReadonlySet<string> = new Set(['metadata', 'resources'])

/** Switches for which off and absent are the same. */
const plainSwitches: ReadonlySet<string> = new Set([
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'readOnly',
  'stdin',
  'stdinOnce',
  'tty',
])

/** Texts for which empty and absent are not the same. */
const emptyTextFields: ReadonlySet<string> = new Set(['runtimeClassName', 'storageClassName'])
