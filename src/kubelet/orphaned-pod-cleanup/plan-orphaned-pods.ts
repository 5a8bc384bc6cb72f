import type { ContainerSummary, SandboxSummary } from '#/cri/cri.ts'
import { podOfLabels } from '../container-labels.ts'

export interface OrphanedPodInput {
  readonly known: ReadonlySet<string>
  readonly sandboxes: readonly Pick<SandboxSummary, 'id' | 'labels'>[]
  readonly containers: readonly Pick<ContainerSummary, 'id' | 'labels' | 'state' | 'sandboxId'>[]
  readonly volumeUids: readonly string[]
  readonly cgroupUids: readonly string[]
  /** Directory names of the form `namespace_name_uid`. */
  readonly logFolders: readonly string[]
}

/** Everything that remains of one pod. */
export interface OrphanedPod {
  readonly uid: string
  readonly sandboxes: readonly string[]
  /** Running containers, which are stopped first. */
  readonly running: readonly string[]
  /** Containers that are not removed with a sandbox. */
  readonly containers: readonly string[]
  readonly logFolders: readonly string[]
}

export function planOrphanedPods(leftovers: OrphanedPodInput): readonly OrphanedPod[] {
  const { known, volumeUids, cgroupUids } = leftovers
  const sandboxes = leftovers.sandboxes.map(each => ({ ...each, uid: podOfLabels(each.labels)?.uid }))
  const containers = leftovers.containers.map(each => ({ ...each, uid: podOfLabels(each.labels)?.uid }))
  const logs = leftovers.logFolders.map(name => ({ name, uid: uidOfLogFolder(name) }))
  const uids = new Set(
    [...sandboxes, ...containers, ...logs, ...[...volumeUids, ...cgroupUids].map(uid => ({ uid }))]
      .map(({ uid }) => uid)
      .filter(uid => uid !== undefined && !known.has(uid)),
  )
  return [...uids]
    .filter(uid => uid !== undefined)
    .sort()
    .map(uid => {
      const own = sandboxes.filter(each => each.uid === uid).map(({ id }) => id)
      const ofPod = containers.filter(each => each.uid === uid)
      return {
        uid,
        sandboxes: own,
        running: ofPod.filter(({ state }) => state !== 'exited' && state !== 'created').map(({ id }) => id),
        containers: ofPod.filter(({ sandboxId }) => !own.includes(sandboxId)).map(({ id }) => id),
        logFolders: logs.filter(each => each.uid === uid).map(({ name }) => name),
      }
    })
}

/** Namespaces and names contain no underscores. */
function uidOfLogFolder(name: string): string | undefined {
  const [, uid] = /^[^_]+_[^_]+_([^_/]+)$/.exec(name) ?? []
  return uid
}
