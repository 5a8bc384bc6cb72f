import type { ScopedResourceSelectorRequirement } from '../generated/core/v1.ts'
import type { KubernetesObject } from '../metadata.ts'
import type { Amounts } from './amounts.ts'

/** What objects of one kind count for. */
export interface QuotaEvaluator {
  /** Whether a resource of which a quota is kept is used by such objects. */
  counts(resource: string): boolean
  usage(object: KubernetesObject, nowMs: number): Amounts
  /** Whether the object is in the scope. One that the kind does not know has none of its objects. */
  isInScope(object: KubernetesObject, scope: ScopedResourceSelectorRequirement): boolean
  /** Whether a write can use more than before. */
  isCharged(write: QuotaWrite): boolean
  /** What the object must say because a quota is kept of these resources; undefined when it says it all. */
  missing?(object: KubernetesObject, resources: readonly string[]): string | undefined
}

export interface QuotaWrite {
  readonly operation: 'CREATE' | 'UPDATE'
  readonly subresource: string
  readonly object: KubernetesObject
  /** Undefined for a creation. */
  readonly before: KubernetesObject | undefined
}

/** `count/pods`, `count/deployments.apps`: every stored object of the kind, whatever its state. */
export function objectCountName(group: string, plural: string): string {
  return group === '' ? `count/${plural}` : `count/${plural}.${group}`
}
