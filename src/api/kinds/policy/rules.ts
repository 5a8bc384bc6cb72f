/**
 * Disruption budgets. An eviction has no rules of its own: the pod and its budgets decide about it.
 * https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
 */
import type { GroupRules } from '../../kind-rules.ts'
import { podDisruptionBudgetRules } from './pod-disruption-budget.ts'

export const policy: GroupRules = { PodDisruptionBudget: podDisruptionBudgetRules }
