import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { canonicalTemplate } from '../shared/canonical-template.ts'

/** Distinguishes pods and ReplicaSets of different revisions. */
export const hashLabel = 'pod-template-hash'

/** True if two templates are equal, ignoring the `pod-template-hash` label. */
export function sameTemplate(left: PodTemplateSpec | undefined, right: PodTemplateSpec | undefined): boolean {
  return canonicalTemplate(withoutHash(left ?? {})) === canonicalTemplate(withoutHash(right ?? {}))
}

/** Short hash of the template; `collisionCount` changes it after a collision. */
export function templateHash(template: PodTemplateSpec, collisionCount: number | undefined): string {
  const canonical = canonicalTemplate(withoutHash(template))
  const text = collisionCount === undefined ? canonical : `${canonical}${collisionCount}`
  let hash = hashStart
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, hashPrime)
  return String(hash >>> 0).replace(/\d/g, digit => digitNames.charAt(Number(digit)))
}

export function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { labels, ...metadata } = template.metadata ?? {}
  if (labels === undefined || !Object.hasOwn(labels, hashLabel)) return template
  const known = stripped.get(template)
  if (known !== undefined) return known
  const { [hashLabel]: _hash, ...rest } = labels
  const plain = { ...template, metadata: { ...metadata, labels: rest } }
  stripped.set(template, plain)
  return plain
}

/** Caches the result, so that the same template always gives the same object. */
const stripped = new WeakMap<PodTemplateSpec, PodTemplateSpec>()

/** 32-bit FNV-1a. */
const hashStart = 0x811c9dc5
const hashPrime = 0x01000193

/** Characters of generated names, which cannot form words. */
const digitNames = '456789bcdf'
