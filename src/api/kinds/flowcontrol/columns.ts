/** Table columns for `flowcontrol.apiserver.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import { conditionOf } from '../../conditions.ts'
import type { FlowSchema, PriorityLevelConfiguration } from '../../generated/flowcontrol/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../unchecked.ts'

const flowSchemaColumns: KindColumns<FlowSchema> = {
  columns: [
    nameColumn,
    textColumn('PriorityLevel', 'The priority level of the requests.'),
    textColumn('MatchingPrecedence', 'Of the schemas that match a request, the least holds.'),
    textColumn('DistinguisherMethod', 'What tells one flow of requests from another.'),
    ageColumn,
    textColumn('MissingPL', 'Whether the priority level does not exist.'),
  ],
  cells: (schema: Unchecked<FlowSchema>, nowMs) => {
    const { priorityLevelConfiguration, matchingPrecedence = 0, distinguisherMethod } = schema.spec ?? {}
    const dangling = conditionOf(schema.status?.conditions, 'Dangling')
    return [
      nameOf(schema),
      priorityLevelConfiguration?.name ?? '',
      matchingPrecedence,
      distinguisherMethod === undefined ? '<none>' : (distinguisherMethod.type ?? ''),
      ageOf(schema, nowMs),
      dangling === undefined ? '?' : (dangling.status ?? ''),
    ]
  },
}

const priorityLevelConfigurationColumns: KindColumns<PriorityLevelConfiguration> = {
  columns: [
    nameColumn,
    textColumn('Type', 'Whether requests are limited.'),
    textColumn('NominalConcurrencyShares', 'The share of the requests that may run at once.'),
    textColumn('Queues', 'How many queues there are.'),
    textColumn('HandSize', 'How many queues a flow is spread over.'),
    textColumn('QueueLengthLimit', 'How many requests may wait in a queue.'),
    ageColumn,
  ],
  cells: (level: Unchecked<PriorityLevelConfiguration>, nowMs) => {
    const { type = '', limited } = level.spec ?? {}
    const queuing = limited?.limitResponse?.queuing
    return [
      nameOf(level),
      type,
      limited === undefined ? '<none>' : (limited.nominalConcurrencyShares ?? 0),
      queuing === undefined ? '<none>' : (queuing.queues ?? 0),
      queuing === undefined ? '<none>' : (queuing.handSize ?? 0),
      queuing === undefined ? '<none>' : (queuing.queueLengthLimit ?? 0),
      ageOf(level, nowMs),
    ]
  },
}

export const flowcontrolColumns: GroupColumns = {
  FlowSchema: flowSchemaColumns,
  PriorityLevelConfiguration: priorityLevelConfigurationColumns,
}
