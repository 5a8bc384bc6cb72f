/** Rules and table columns of `policy`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { PodDisruptionBudget } from '../../generated/policy/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { integerColumn, textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { podDisruptionBudgetRules } from './pod-disruption-budget.ts'

export const policyRules: GroupRules = { PodDisruptionBudget: podDisruptionBudgetRules }

const podDisruptionBudgetColumns: KindColumns<PodDisruptionBudget> = {
  columns: [
    nameColumn,
    textColumn('Min Available', 'Number or percentage of pods that must be available.'),
    textColumn('Max Unavailable', 'Number or percentage of pods that may be unavailable.'),
    integerColumn('Allowed Disruptions', 'Calculated number of pods that may be disrupted at this time.'),
    ageColumn,
  ],
  cells: (budget: Unchecked<PodDisruptionBudget>) => [
    nameOf(budget),
    String(budget.spec?.minAvailable ?? 'N/A'),
    String(budget.spec?.maxUnavailable ?? 'N/A'),
    budget.status?.disruptionsAllowed ?? 0,
    ageOf(budget),
  ],
}

export const policyColumns: GroupColumns = { PodDisruptionBudget: podDisruptionBudgetColumns }
