/** https://kubernetes.io/docs/concepts/cluster-administration/flow-control/ */
import type { GroupRules } from '../../kind-rules.ts'
import { flowSchemaRules } from './flow-schema.ts'
import { priorityLevelRules } from './priority-level.ts'

export const flowcontrol: GroupRules = {
  FlowSchema: flowSchemaRules,
  PriorityLevelConfiguration: priorityLevelRules,
}
