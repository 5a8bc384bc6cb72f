/** The rules of resources. */
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { isCustomKind, type Resource } from '#/api/resource.ts'

export function withDefaults(rules: KindRules, object: KubernetesObject): KubernetesObject {
  return rules.withDefaults?.(object) ?? object
}

/** Erases the object type of the rules: objects stored under a resource have that type. */
export function rulesOf(resource: Resource): KindRules {
  return (resource.rules ?? {}) as unknown as KindRules
}

/** True if a status update cannot change the metadata, as of custom resources and some newer kinds. */
export function restoresMetadata(resource: Resource): boolean {
  return isCustomKind(resource) || resource.rules?.statusKeepsMetadata === true
}

export function requiresQualifiedFinalizers(resource: Resource): boolean {
  return !isCustomKind(resource) && resource.rules?.allowsUnqualifiedFinalizers !== true
}
