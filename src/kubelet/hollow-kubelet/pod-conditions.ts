import type { Pod, PodCondition } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'

/** The kubelet's pod conditions; conditions of other components are kept. */
export function podConditions(pod: Pod, isInitialized: boolean, nowMs: number): readonly PodCondition[] {
  const { phase, containerStatuses = [], conditions: before = [] } = pod.status ?? {}
  const isSucceeded = phase === 'Succeeded'
  const isRunning = phase === 'Running' && containerStatuses.every(({ ready }) => ready)
  const completed = isSucceeded ? { reason: 'PodCompleted' } : {}
  const gates = pod.spec?.readinessGates ?? []
  const areGatesOpen = gates.every(({ conditionType }) => {
    return before.some(({ type, status }) => type === conditionType && status === 'True')
  })
  const unready = isSucceeded
    ? completed
    : isRunning
      ? { reason: 'ReadinessGatesNotReady' }
      : { reason: 'ContainersNotReady' }
  const own: readonly PodCondition[] = [
    { type: 'PodReadyToStartContainers', status: isRunning || !isTerminal(phase) ? 'True' : 'False' },
    {
      type: 'Initialized',
      status: isInitialized ? 'True' : 'False',
      ...(isInitialized ? completed : { reason: 'ContainersNotInitialized' }),
    },
    {
      type: 'Ready',
      status: isRunning && areGatesOpen ? 'True' : 'False',
      ...(isRunning && areGatesOpen ? {} : unready),
    },
    {
      type: 'ContainersReady',
      status: isRunning ? 'True' : 'False',
      ...(isRunning ? {} : isSucceeded ? completed : { reason: 'ContainersNotReady' }),
    },
  ]
  const ownTypes = new Set(own.map(({ type }) => type))
  const now = formatTime(nowMs)
  return [
    ...own.map(condition => {
      const last = before.find(({ type }) => type === condition.type)
      const since = last?.status === condition.status ? last.lastTransitionTime : undefined
      return { ...condition, lastTransitionTime: since ?? now }
    }),
    ...before.filter(({ type }) => !ownTypes.has(type)),
  ]
}

/** True if the pod has succeeded or failed. */
export function isTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}
