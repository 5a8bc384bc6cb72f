/** Snapshots of a cluster on a volume: one pod at a time writes the next one. */
import type { Pod } from 'k8ts/api/core/v1'
import { isBeingDeleted, type Stored } from 'k8ts/api/metadata'
import type { BackupStatus, EtcdCluster } from './etcd-cluster.ts'
import { backupFileOf, isMemberPod, nameOf } from './member-pod.ts'
import type { EtcdMember } from './etcd-client.ts'

export type BackupAction =
  | { readonly type: 'create-backup'; readonly name: string; readonly file: string; readonly member: string }
  | { readonly type: 'delete-pod'; readonly pod: Stored<Pod> }

export interface BackupPlan {
  readonly actions: readonly BackupAction[]
  /** The last complete backup. */
  readonly backup: BackupStatus | undefined
}

export interface BackupState {
  readonly cluster: Stored<EtcdCluster>
  readonly pods: readonly Stored<Pod>[]
  readonly members: readonly EtcdMember[] | undefined
  readonly responding: ReadonlySet<string>
  readonly nowMs: number
  readonly newName: string
}

/** A failed pod is kept for this long, so that its log can be read, and then tried again. */
const retryMs = 30_000

export function planBackup(state: BackupState): BackupPlan {
  const { cluster, members = [], responding, nowMs, newName } = state
  const { spec, status, metadata } = cluster
  const last = status?.backup
  const pod = state.pods.find(each => !isMemberPod(each) && !isBeingDeleted(each))
  if (pod !== undefined) return planPod(pod, last, nowMs)
  const source = members.find(member => !member.isLearner && responding.has(nameOf(member)))
  const dueMs =
    last === undefined ? 0 : Date.parse(last.lastTime) + (spec.backup?.intervalSeconds ?? 0) * 1_000
  // While the cluster is scaled down, the source could be the member that is removed next.
  const isShrinking = members.length > spec.size
  if (spec.backup === undefined || source === undefined || isShrinking || nowMs < dueMs)
    return { actions: [], backup: last }
  const slot = last === undefined ? 0 : (slotOf(last.file) + 1) % spec.backup.retained
  const file = `${metadata.name}-${slot}.db`
  const action = { type: 'create-backup', name: `${newName}-backup`, file, member: nameOf(source) } as const
  return { actions: [action], backup: last }
}

function planPod(pod: Stored<Pod>, last: BackupStatus | undefined, nowMs: number): BackupPlan {
  const { name, creationTimestamp } = pod.metadata
  const deletion = { type: 'delete-pod', pod } as const
  const phase = pod.status?.phase
  if (phase === 'Failed' && nowMs - Date.parse(creationTimestamp) >= retryMs) {
    return { actions: [deletion], backup: last }
  }
  if (phase !== 'Succeeded') return { actions: [], backup: last }
  // Recorded before the pod is deleted: a backup without a record would be repeated.
  if (last?.pod === name) return { actions: [deletion], backup: last }
  const lastTime = new Date(nowMs).toISOString().replace(/\.\d+/, '')
  return { actions: [], backup: { lastTime, file: backupFileOf(pod), pod: name } }
}

function slotOf(file: string): number {
  return Number(/-(\d+)\.db$/.exec(file)?.[1] ?? 0)
}
