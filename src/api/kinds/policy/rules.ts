/**
 * Rules of the `policy` group. Eviction has no rules: the pod and its disruption budgets decide.
 * https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
 */
import type { GroupRules } from '../../kind-rules.ts'
import { podDisruptionBudgetRules } from './pod-disruption-budget.ts'

export const policy: GroupRules = { PodDisruptionBudget: podDisruptionBudgetRules }
