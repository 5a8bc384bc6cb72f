/**
 * Quota usage of objects. Admission checks it before an object is stored, and the quota controller sums it up
 * for existing objects; both use these evaluators, so that the results agree.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import type { QuotaEvaluator } from './quota/evaluator.ts'
import { objectCountEvaluator, serviceEvaluator } from './quota/count-evaluators.ts'
import { podEvaluator } from './quota/pod-evaluator.ts'
import { resourceClaimEvaluator } from './quota/resource-claim-evaluator.ts'
import { volumeClaimEvaluator } from './quota/volume-claim-evaluator.ts'
import { qualifiedResourceName, type Resource } from './resource.ts'

export {
  addAmounts,
  amountsOf,
  positiveDifference,
  toResourceList,
  pick,
  formatAmounts,
  withoutZeros,
  type Amounts,
} from './quota/amounts.ts'
export type { QuotaEvaluator, QuotaWrite } from './quota/evaluator.ts'
export { isInAllScopes, scopesOf } from './quota/scope.ts'

const known: ReadonlyMap<string, QuotaEvaluator> = new Map([
  ['pods', podEvaluator],
  ['services', serviceEvaluator],
  ['persistentvolumeclaims', volumeClaimEvaluator],
  ['resourceclaims.resource.k8s.io', resourceClaimEvaluator],
])

/** Kinds that are not stored, and events, which are unbounded. */
const ignored: ReadonlySet<string> = new Set([
  'bindings',
  'componentstatuses',
  'events',
  'events.events.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
])

/** Undefined for kinds that quotas ignore. Kinds without a special evaluator are only counted. */
export function evaluatorFor(resource: Pick<Resource, 'group' | 'plural'>): QuotaEvaluator | undefined {
  const name = qualifiedResourceName(resource)
  if (ignored.has(name)) return undefined
  return known.get(name) ?? objectCountEvaluator(resource.group, resource.plural)
}

/** True if the usage of an object depends on more than its existence. */
export function isUsageOfContent(resource: Pick<Resource, 'group' | 'plural'>): boolean {
  return known.has(qualifiedResourceName(resource))
}
