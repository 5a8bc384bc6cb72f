import { isRunningOrUnknown } from './plan-termination.ts'
import type { PodAction, PodSyncInput } from '../plan-pod.ts'

/** The newest container of each name and its predecessor are kept for logs and exit status. */
const keptContainers = 2

/** Removes exited containers that are no longer needed, and empty old sandboxes. */
export function planContainerGc({ pod, observed, starting }: PodSyncInput): readonly PodAction[] {
  const { sandboxes, containers } = observed
  const initNames = new Set(pod.spec?.initContainers?.map(({ name }) => name))
  const newest = sandboxes[0]?.id
  const counts = new Map<string, number>()
  const stale = containers.filter(container => {
    const { name, sandboxId } = container
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    if (isRunningOrUnknown(container) || starting.has(name)) return false
    return count > keptContainers || (initNames.has(name) && sandboxId !== newest)
  })
  const empty = sandboxes.slice(1).filter(({ id, isReady }) => {
    return !isReady && !containers.some(container => container.sandboxId === id && !stale.includes(container))
  })
  return [
    ...stale.map(({ id, name, attempt }) => ({ type: 'remove-container' as const, id, name, attempt })),
    ...empty.map(({ id }) => ({ type: 'remove-sandbox' as const, id })),
  ]
}
