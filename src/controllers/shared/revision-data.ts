import type { ControllerRevision } from '#/api/generated/apps/v1.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { canonicalTemplate } from './canonical-template.ts'

export type RevisionData = NonNullable<ControllerRevision['data']>

/**
 * Contents of a revision: a patch that restores the set's template. Keys are sorted, so that it is
 * byte-identical to what kubectl and other Go clients produce; they find the current revision by comparing
 * bytes.
 */
export function revisionData(template: PodTemplateSpec): RevisionData {
  return made.getOrInsertComputed(template, () => {
    return { spec: { template: sorted({ ...template, $patch: 'replace' }) } }
  })
}

/** Cached: templates are immutable and used by every reconcile. */
const made = new WeakMap<PodTemplateSpec, RevisionData>()

/** The template in a revision; undefined if the revision has other contents. */
export function templateOfRevision(revision: ControllerRevision): PodTemplateSpec | undefined {
  const known = kept.get(revision)
  if (known !== undefined) return known
  const { spec } = (revision.data ?? {}) as { readonly spec?: { readonly template?: unknown } }
  if (typeof spec?.template !== 'object' || spec.template === null) return undefined
  const { $patch: _, ...template } = spec.template as PodTemplateSpec & { readonly $patch?: unknown }
  kept.set(revision, template)
  return template
}

const kept = new WeakMap<ControllerRevision, PodTemplateSpec>()

/** True if the revision contains the template, independent of field order and formatting. */
export function hasTemplate(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  const then = templateOfRevision(revision)
  return then !== undefined && canonicalTemplate(then) === canonicalTemplate(template)
}

/** Short hash of the data; it depends on the collision count. */
export function revisionHash(data: RevisionData, collisionCount: number): string {
  let hash = hashStart
  for (const byte of new TextEncoder().encode(`${stringifyJson(data as JsonValue)}${collisionCount}`)) {
    hash = Math.imul(hash, hashPrime) ^ byte
  }
  return String(hash >>> 0).replace(/\d/g, digit => digitNames.charAt(Number(digit)))
}

/** 32-bit FNV-1, as upstream uses for revision names. */
const hashStart = 0x811c9dc5
const hashPrime = 0x01000193

/** Characters of generated names, which cannot form words. */
const digitNames = '456789bcdf'

/** Recursion is bounded by the depth of a pod template. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]))
}
