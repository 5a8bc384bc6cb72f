import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { templateMeaning } from '../template-meaning.ts'

/** Tells pods and replica sets of one revision from those of the others. */
export const hashLabel = 'pod-template-hash'

/** Whether two templates are of the same revision. */
export function sameTemplate(left: PodTemplateSpec | undefined, right: PodTemplateSpec | undefined): boolean {
  return templateMeaning(withoutHash(left ?? {})) === templateMeaning(withoutHash(right ?? {}))
}

/** A few characters that are in all likelihood no other template's; collisions that were met change them. */
export function templateHash(template: PodTemplateSpec, collisionCount: number | undefined): string {
  const meaning = templateMeaning(withoutHash(template))
  const text = collisionCount === undefined ? meaning : `${meaning}${collisionCount}`
  let hash = hashStart
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, hashPrime)
  return String(hash >>> 0).replace(/\d/g, digit => digitNames.charAt(Number(digit)))
}

/** The template without the label with its hash, which that of a deployment does not have. */
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

/** So that one template always gives the same object, whose meaning is known. */
const stripped = new WeakMap<PodTemplateSpec, PodTemplateSpec>()

/** FNV-1a with 32 bits. */
const hashStart = 0x811c9dc5
const hashPrime = 0x01000193

/** Digits as generated names have them, so that no name says anything. */
const digitNames = '456789bcdf'
