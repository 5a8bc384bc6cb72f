import type { ScopedResourceSelectorRequirement } from '../generated/core/v1.ts'
import type { KubernetesObject } from '../metadata.ts'
import { qualifiedResourceName } from '../resource.ts'
import type { Amounts } from './amounts.ts'

/** Quota usage of the objects of one kind. */
export interface QuotaEvaluator {
  /** True if objects of the kind use the quota resource. */
  matchesResource(resource: string): boolean
  usage(object: KubernetesObject, nowMs: number): Amounts
  /** True if the object is in the scope. False for scopes that the kind does not support. */
  matchesScope(object: KubernetesObject, scope: ScopedResourceSelectorRequirement): boolean
  /** True if the write can increase usage. */
  handles(write: QuotaWrite): boolean
  /**
   * Error message for fields the object must set because these resources have a quota; undefined if nothing
   * is missing.
   */
  constraints?(object: KubernetesObject, resources: readonly string[]): string | undefined
}

export interface QuotaWrite {
  readonly operation: 'CREATE' | 'UPDATE'
  readonly subresource: string
  readonly object: KubernetesObject
  /** Undefined on creation. */
  readonly oldObject: KubernetesObject | undefined
}

/** `count/pods`, `count/deployments.apps`: counts all stored objects of the kind, in any state. */
export function objectCountName(group: string, plural: string): string {
  return `count/${qualifiedResourceName({ group, plural })}`
}
