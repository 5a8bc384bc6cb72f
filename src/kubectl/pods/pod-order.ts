import type { Pod } from '#/api/generated/core/v1.ts'

type Compare = (a: Pod, b: Pod) => number

/** The pod whose logs are most useful comes first: assigned, running, ready for long, often restarted, old. */
export const compareForLogs: Compare = firstDifference([
  (a, b) => (isAssigned(a) ? 0 : 1) - (isAssigned(b) ? 0 : 1),
  (a, b) => phaseRank(a, 0) - phaseRank(b, 0),
  (a, b) => (isReady(a) ? 0 : 1) - (isReady(b) ? 0 : 1),
  (a, b) => (isReady(a) && isReady(b) ? compareTimes(readyTime(a), readyTime(b)) : 0),
  compareRestarts,
  (a, b) => compareTimes(a.metadata.creationTimestamp, b.metadata.creationTimestamp),
])

/** The pod that a session should be opened to comes first: the opposite of the one that is dispensable. */
export const compareForAttach: Compare = firstDifference([
  (a, b) => (isAssigned(a) ? 0 : 1) - (isAssigned(b) ? 0 : 1),
  (a, b) => phaseRank(a, 2) - phaseRank(b, 2),
  (a, b) => (isReady(a) ? 0 : 1) - (isReady(b) ? 0 : 1),
  (a, b) => (isDeleting(a) ? 1 : 0) - (isDeleting(b) ? 1 : 0),
  (a, b) =>
    isDeleting(a) && isDeleting(b)
      ? compareTimes(b.metadata.deletionTimestamp, a.metadata.deletionTimestamp)
      : 0,
  (a, b) => (isReady(a) && isReady(b) ? compareTimes(readyTime(a), readyTime(b)) : 0),
  (a, b) => -compareRestarts(a, b),
  (a, b) => compareTimes(a.metadata.creationTimestamp, b.metadata.creationTimestamp),
])

function firstDifference(criteria: readonly Compare[]): Compare {
  return (a, b) => {
    for (const compare of criteria) {
      const order = compare(a, b)
      if (order !== 0) return order
    }
    return 0
  }
}

function isAssigned({ spec }: Pod): boolean {
  return Boolean(spec?.nodeName)
}

/** `ended` is the rank of pods whose containers have ended. */
function phaseRank({ status }: Pod, ended: number): number {
  const rank = ['Running', 'Unknown', 'Pending'].indexOf(status?.phase ?? '')
  return rank === -1 ? ended : rank
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
}

function readyTime({ status }: Pod): string | undefined {
  return status?.conditions?.find(each => each.type === 'Ready' && each.status === 'True')?.lastTransitionTime
}

function isDeleting({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** The earlier one comes first; an absent time is the latest. */
function compareTimes(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 1 : 0) - (b === undefined ? 1 : 0)
  return Date.parse(a) - Date.parse(b)
}

/** More restarts come first; sidecars count only among equals. */
function compareRestarts(a: Pod, b: Pod): number {
  const [ofA, ofB] = [restartsOf(a), restartsOf(b)]
  return ofB.regular - ofA.regular || ofB.sidecar - ofA.sidecar
}

function restartsOf({ spec, status }: Pod): { readonly regular: number; readonly sidecar: number } {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const names = new Set(sidecars.map(({ name }) => name))
  const regular = (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount)
  const sidecar = (status?.initContainerStatuses ?? []).filter(({ name }) => names.has(name))
  return {
    regular: Math.max(0, ...regular),
    sidecar: Math.max(0, ...sidecar.map(({ restartCount }) => restartCount)),
  }
}
