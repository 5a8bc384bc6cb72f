/** Events for changes of the node status. */
import type { NodeStatus } from '#/api/generated/core/v1.ts'

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

export function planEvents(name: string, before: NodeStatus, after: NodeStatus): readonly PlannedEvent[] {
  const events: PlannedEvent[] = []
  const bootBefore = before.nodeInfo?.bootID ?? ''
  const bootId = after.nodeInfo?.bootID ?? ''
  if (bootBefore !== '' && bootBefore !== bootId) {
    const message = `Node ${name} has been rebooted, boot id: ${bootId}`
    events.push({ type: 'Warning', reason: 'Rebooted', message })
  }
  for (const { type, status } of after.conditions ?? []) {
    const known = before.conditions?.find(condition => condition.type === type)
    const reason = eventReasons[`${type}=${status}`]
    // No Ready event for a node that is registered for the first time.
    const isNews = known === undefined ? type !== 'Ready' : known.status !== status
    if (reason === undefined || !isNews) continue
    events.push({ type: 'Normal', reason, message: `Node ${name} status is now: ${reason}` })
  }
  return events
}

const eventReasons: Readonly<Record<string, string>> = {
  'MemoryPressure=True': 'NodeHasInsufficientMemory',
  'MemoryPressure=False': 'NodeHasSufficientMemory',
  'DiskPressure=True': 'NodeHasDiskPressure',
  'DiskPressure=False': 'NodeHasNoDiskPressure',
  'PIDPressure=True': 'NodeHasInsufficientPID',
  'PIDPressure=False': 'NodeHasSufficientPID',
  'Ready=True': 'NodeReady',
  'Ready=False': 'NodeNotReady',
}
