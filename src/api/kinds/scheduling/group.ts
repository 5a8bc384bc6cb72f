/** Rules and table columns of `scheduling.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { PriorityClass } from '../../generated/scheduling/v1.ts'
import type { PodGroup, Workload } from '../../generated/scheduling/v1alpha2.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { booleanColumn, integerColumn, textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { priorityClassRules } from './priority-class.ts'

export const schedulingRules: GroupRules = { PriorityClass: priorityClassRules }

const priorityClassColumns: KindColumns<PriorityClass> = {
  columns: [
    nameColumn,
    integerColumn('Value', 'Priority value.'),
    booleanColumn('Global-Default', 'True if used for pods without a priority class.'),
    ageColumn,
    textColumn('PreemptionPolicy', 'Policy for preempting pods with lower priority.'),
  ],
  cells: (object: Unchecked<PriorityClass>) => [
    nameOf(object),
    object.value ?? 0,
    object.globalDefault ?? false,
    ageOf(object),
    object.preemptionPolicy ?? '',
  ],
}

const workloadColumns: KindColumns<Workload> = {
  columns: [nameColumn, ageColumn],
  cells: (object: Unchecked<Workload>) => [nameOf(object), ageOf(object)],
}

const podGroupColumns: KindColumns<PodGroup> = {
  columns: [
    nameColumn,
    textColumn('Policy', 'Scheduling policy of the group.'),
    textColumn('Workload', 'Workload of the group.'),
    textColumn('Status', 'Scheduling status of the group.'),
    ageColumn,
  ],
  cells: (group: Unchecked<PodGroup>) => {
    const { schedulingPolicy, podGroupTemplateRef } = group.spec ?? {}
    return [
      nameOf(group),
      schedulingPolicy?.gang === undefined ? 'Basic' : 'Gang',
      podGroupTemplateRef === undefined ? '<none>' : (podGroupTemplateRef.workload?.workloadName ?? ''),
      groupStatus(group),
      ageOf(group),
    ]
  },
}

function groupStatus({ status }: Unchecked<PodGroup>): string {
  const last = (type: string) => status?.conditions?.findLast(condition => condition.type === type)
  const disrupted = last('DisruptionTarget')
  if (disrupted !== undefined) return disrupted.reason ?? ''
  const scheduled = last('PodGroupScheduled')
  if (scheduled === undefined) return 'Pending'
  return scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable'
}

export const schedulingColumns: GroupColumns = {
  PodGroup: podGroupColumns,
  PriorityClass: priorityClassColumns,
  Workload: workloadColumns,
}
