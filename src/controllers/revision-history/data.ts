import type { ControllerRevision } from '#/api/generated/apps/v1.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { stringifyJson } from '#/api/json.ts'
import type { JsonValue } from '#/api/json-value.ts'
import { templateMeaning } from '../template-meaning.ts'

export type RevisionData = NonNullable<ControllerRevision['data']>

/**
 * What a revision keeps: a patch that gives the set its template of then. Its keys are sorted, so that it is to the
 * byte what clients written in Go make of the same template: they look for the current revision by comparing.
 */
export function revisionData(template: PodTemplateSpec): RevisionData {
  const known = made.get(template)
  if (known !== undefined) return known
  const data = { spec: { template: sorted({ ...template, $patch: 'replace' }) } }
  made.set(template, data)
  return data
}

/** Templates are immutable, and each is looked at in every pass over its set. */
const made = new WeakMap<PodTemplateSpec, RevisionData>()

/** The template that a revision keeps; undefined when somebody keeps something else in it. */
export function templateIn(revision: ControllerRevision): PodTemplateSpec | undefined {
  const known = kept.get(revision)
  if (known !== undefined) return known
  const { spec } = (revision.data ?? {}) as { readonly spec?: { readonly template?: unknown } }
  if (typeof spec?.template !== 'object' || spec.template === null) return undefined
  const { $patch: _, ...template } = spec.template as PodTemplateSpec & { readonly $patch?: unknown }
  kept.set(revision, template)
  return template
}

const kept = new WeakMap<ControllerRevision, PodTemplateSpec>()

/** Whether a set with the template has the revision, however whoever wrote either of them put it. */
export function keeps(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  const then = templateIn(revision)
  return then !== undefined && templateMeaning(then) === templateMeaning(template)
}

/** A few characters that stand for the data; another number of collisions gives others. */
export function revisionHash(data: RevisionData, collisionCount: number): string {
  let hash = hashStart
  for (const byte of new TextEncoder().encode(`${stringifyJson(data as JsonValue)}${collisionCount}`)) {
    hash = Math.imul(hash, hashPrime) ^ byte
  }
  return String(hash >>> 0).replace(/\d/g, digit => digitNames.charAt(Number(digit)))
}

/** FNV-1 with 32 bits, by which Kubernetes names revisions. */
const hashStart = 0x811c9dc5
const hashPrime = 0x01000193

/** Digits as generated names have them, so that no name says anything. */
const digitNames = '456789bcdf'

/** Descends as deep as a pod template is. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]))
}
