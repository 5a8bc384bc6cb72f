import { conditionOf } from '#/api/conditions.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import type { Node, NodeCondition } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

/** Last observed heartbeat, and when it was observed. */
export interface NodeHealth {
  readonly heartbeat: string
  readonly atMs: number
}

/** Changes with every heartbeat, by lease or by node status. */
export function heartbeatOf(node: Node | undefined, lease: Lease | undefined): string {
  const ready = conditionOf(node?.status?.conditions, 'Ready')
  return `${lease?.spec?.renewTime ?? ''} ${ready?.status === 'Unknown' ? '' : (ready?.lastHeartbeatTime ?? '')}`
}

const nodeConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

/** The node's conditions with status Unknown, for a node without heartbeats. */
export function unknownConditions(node: Stored<Node>, now: string): readonly NodeCondition[] {
  const before = node.status?.conditions ?? []
  const unknown = nodeConditions.map((type): NodeCondition => {
    const last = conditionOf(before, type)
    if (last === undefined) {
      return {
        type,
        status: 'Unknown',
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
        lastHeartbeatTime: node.metadata.creationTimestamp,
        lastTransitionTime: now,
      }
    }
    if (last.status === 'Unknown') return last
    return {
      ...last,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
      lastTransitionTime: now,
    }
  })
  const byType = new Map(unknown.map(condition => [condition.type, condition]))
  const kept = before.map(condition => byType.get(condition.type) ?? condition)
  return [...kept, ...unknown.filter(({ type }) => conditionOf(before, type) === undefined)]
}
