/** Table columns for `scheduling.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { PriorityClass } from '../../generated/scheduling/v1.ts'
import type { PodGroup, Workload } from '../../generated/scheduling/v1alpha2.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { booleanColumn, integerColumn, textColumn } from '../make-column.ts'
import type { Unchecked } from '../unchecked.ts'

const priorityClassColumns: KindColumns<PriorityClass> = {
  columns: [
    nameColumn,
    integerColumn('Value', 'The priority of pods of the class.'),
    booleanColumn('Global-Default', 'Whether pods that name no class are of this one.'),
    ageColumn,
    textColumn('PreemptionPolicy', 'Whether pods of the class take the place of others.'),
  ],
  cells: (object: Unchecked<PriorityClass>, nowMs) => [
    nameOf(object),
    object.value ?? 0,
    object.globalDefault ?? false,
    ageOf(object, nowMs),
    object.preemptionPolicy ?? '',
  ],
}

const workloadColumns: KindColumns<Workload> = {
  columns: [nameColumn, ageColumn],
  cells: (object: Unchecked<Workload>, nowMs) => [nameOf(object), ageOf(object, nowMs)],
}

const podGroupColumns: KindColumns<PodGroup> = {
  columns: [
    nameColumn,
    textColumn('Policy', 'Whether pods are placed one by one or all at once.'),
    textColumn('Workload', 'The workload that the group is part of.'),
    textColumn('Status', 'Whether the pods of the group have places.'),
    ageColumn,
  ],
  cells: (group: Unchecked<PodGroup>, nowMs) => {
    const { schedulingPolicy, podGroupTemplateRef } = group.spec ?? {}
    return [
      nameOf(group),
      schedulingPolicy?.gang === undefined ? 'Basic' : 'Gang',
      podGroupTemplateRef === undefined ? '<none>' : (podGroupTemplateRef.workload?.workloadName ?? ''),
      groupStatus(group),
      ageOf(group, nowMs),
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
