/**
 * What objects count for in the quotas of their namespace. The API server asks before it stores an object,
 * the quota controller when it adds up what is there: both must come to the same sum, so both ask here.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import type { QuotaEvaluator } from './quota/evaluator.ts'
import { objectCountEvaluator } from './quota/object-count-evaluator.ts'
import { podEvaluator } from './quota/pod-evaluator.ts'
import { resourceClaimEvaluator } from './quota/resource-claim-evaluator.ts'
import { serviceEvaluator } from './quota/service-evaluator.ts'
import { volumeClaimEvaluator } from './quota/volume-claim-evaluator.ts'
import type { Resource } from './resource.ts'

export {
  addAmounts,
  amountsOf,
  growth,
  listOf,
  pick,
  showAmounts,
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

/** Kinds that are not stored, and events, of which there is no end. */
const ignored: ReadonlySet<string> = new Set([
  'bindings',
  'componentstatuses',
  'events',
  'events.events.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
])

/** Undefined for kinds of which no quota is kept. Kinds that mean nothing special to quotas are counted. */
export function evaluatorFor({
  group,
  plural,
}: Pick<Resource, 'group' | 'plural'>): QuotaEvaluator | undefined {
  const name = group === '' ? plural : `${plural}.${group}`
  if (ignored.has(name)) return undefined
  return known.get(name) ?? objectCountEvaluator(group, plural)
}
