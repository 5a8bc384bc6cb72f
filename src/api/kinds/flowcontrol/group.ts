/**
 * Rules and table columns of `flowcontrol.apiserver.k8s.io`.
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import { conditionOf } from '../../conditions.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../generated/flowcontrol/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { flowSchemaRules } from './flow-schema.ts'
import { priorityLevelRules } from './priority-level.ts'

export const flowcontrolRules: GroupRules = {
  FlowSchema: flowSchemaRules,
  PriorityLevelConfiguration: priorityLevelRules,
}

const flowSchemaColumns: KindColumns<FlowSchema> = {
  columns: [
    nameColumn,
    textColumn('PriorityLevel', 'Referenced priority level.'),
    textColumn('MatchingPrecedence', 'Precedence: the lowest number among matching schemas wins.'),
    textColumn('DistinguisherMethod', 'Flow distinguisher method.'),
    ageColumn,
    textColumn('MissingPL', 'True if the referenced priority level does not exist.'),
  ],
  cells: (schema: Unchecked<FlowSchema>) => {
    const { priorityLevelConfiguration, matchingPrecedence = 0, distinguisherMethod } = schema.spec ?? {}
    const dangling = conditionOf(schema.status?.conditions, 'Dangling')
    return [
      nameOf(schema),
      priorityLevelConfiguration?.name ?? '',
      matchingPrecedence,
      distinguisherMethod === undefined ? '<none>' : (distinguisherMethod.type ?? ''),
      ageOf(schema),
      dangling === undefined ? '?' : (dangling.status ?? ''),
    ]
  },
}

const priorityLevelConfigurationColumns: KindColumns<PriorityLevelConfiguration> = {
  columns: [
    nameColumn,
    textColumn('Type', 'Exempt or Limited.'),
    textColumn('NominalConcurrencyShares', 'Nominal concurrency shares.'),
    textColumn('Queues', 'Number of queues.'),
    textColumn('HandSize', 'Hand size for shuffle sharding.'),
    textColumn('QueueLengthLimit', 'Maximum queue length.'),
    ageColumn,
  ],
  cells: (level: Unchecked<PriorityLevelConfiguration>) => {
    const { type = '', limited } = level.spec ?? {}
    const queuing = limited?.limitResponse?.queuing
    return [
      nameOf(level),
      type,
      limited === undefined ? '<none>' : (limited.nominalConcurrencyShares ?? 0),
      queuing === undefined ? '<none>' : (queuing.queues ?? 0),
      queuing === undefined ? '<none>' : (queuing.handSize ?? 0),
      queuing === undefined ? '<none>' : (queuing.queueLengthLimit ?? 0),
      ageOf(level),
    ]
  },
}

export const flowcontrolColumns: GroupColumns = {
  FlowSchema: flowSchemaColumns,
  PriorityLevelConfiguration: priorityLevelConfigurationColumns,
}
