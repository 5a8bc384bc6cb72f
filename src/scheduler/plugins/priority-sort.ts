import type { PluginFactory, QueuedPodInfo } from '../framework.ts'

/** queueSort: higher priority first, then earlier time in the queue. */
export const prioritySort: PluginFactory = () => ({ name: 'PrioritySort', queueSort })

function queueSort(left: QueuedPodInfo, right: QueuedPodInfo): number {
  const byPriority = (right.pod.spec?.priority ?? 0) - (left.pod.spec?.priority ?? 0)
  return byPriority || left.addedMs - right.addedMs || left.sequence - right.sequence
}
