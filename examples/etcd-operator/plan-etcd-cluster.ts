/**
 * The decisions of the operator: a pure function of the EtcdCluster, its pods, and what etcd answered. At most
 * one membership change is planned, and none that could cost the quorum:
 *
 * - A new member is added as a learner, which does not vote, and promoted when it answers.
 * - A name is used for one member only: a pod with an empty data folder must never run as a member that has
 *   voted before.
 * - A voter is removed only if the other voters that answer are a quorum without it.
 */
import { withCondition, type Condition } from 'k8ts/api/conditions'
import type { Pod } from 'k8ts/api/core/v1'
import { isBeingDeleted, type Stored } from 'k8ts/api/metadata'
import type { EtcdMember } from './etcd-client.ts'
import type { EtcdCluster, EtcdClusterStatus, MemberStatus } from './etcd-cluster.ts'
import { clusterLabel, isMemberPod, nameOf, servingLabel } from './member-pod.ts'
import { planBackup, type BackupAction } from './plan-backup.ts'

export interface EtcdState {
  readonly cluster: Stored<EtcdCluster>
  /** The pods that the cluster controls. */
  readonly pods: readonly Stored<Pod>[]
  readonly hasService: boolean
  /** As of a linearizable read; undefined without quorum. */
  readonly members: readonly EtcdMember[] | undefined
  /** Names of the members that answered. */
  readonly responding: ReadonlySet<string>
  readonly nowMs: number
  /** For the next pod; never used before. */
  readonly newName: string
}

export type EtcdAction = BackupAction | MembershipAction | PodAction

/** Changes the members of etcd. A plan has at most one. */
export type MembershipAction =
  | { readonly type: 'add-learner'; readonly name: string }
  | { readonly type: 'promote'; readonly member: EtcdMember }
  /** Removes the member, and then its pod. */
  | { readonly type: 'remove'; readonly member: EtcdMember; readonly reason: string }

export type PodAction =
  | { readonly type: 'create-service' }
  | { readonly type: 'create-seed' }
  /** Lets clients and other members reach the pod. */
  | { readonly type: 'serve'; readonly pod: Stored<Pod> }
  | { readonly type: 'delete-pod'; readonly pod: Stored<Pod> }

export interface EtcdPlan {
  readonly actions: readonly EtcdAction[]
  /** Written before the actions are performed. */
  readonly status: EtcdClusterStatus
  /** etcd does not report changes: the state is read again after this time. */
  readonly requeueAfterMs: number
}

const settledPollMs = 10_000
const changingPollMs = 2_000

export function planEtcdCluster(state: EtcdState): EtcdPlan {
  const { actions: backupActions, backup } = planBackup(state)
  const status = { ...planStatus(state), ...(backup && { backup }) }
  const isBootstrapped = state.cluster.status?.bootstrapped === true
  const changes = isBootstrapped ? planMembership(state, status) : planSeed(state)
  const actions = [
    ...(state.hasService ? [] : [{ type: 'create-service' } as const]),
    ...changes,
    // The member that a backup reads from must not be removed meanwhile.
    ...backupActions.filter(({ type }) => type !== 'create-backup' || changes.length === 0),
  ]
  const { size } = state.cluster.spec
  const isSettled = actions.length === 0 && status.size === size && status.readyMembers === size
  return { actions, status, requeueAfterMs: isSettled ? settledPollMs : changingPollMs }
}

/**
 * No client can have written to the seed yet: the Service does not select it. Its name is always the same, so
 * that there are never two.
 */
function planSeed({ pods }: EtcdState): readonly EtcdAction[] {
  const seeds = pods.filter(isMemberPod)
  if (seeds.length === 0) return [{ type: 'create-seed' }]
  return seeds.filter(pod => isLost(pod) && !isBeingDeleted(pod)).map(pod => ({ type: 'delete-pod', pod }))
}

function planMembership(state: EtcdState, status: EtcdClusterStatus): readonly EtcdAction[] {
  const { cluster, members, responding, newName } = state
  const pods = state.pods.filter(isMemberPod)
  const hidden = pods.filter(pod => pod.metadata.labels?.[servingLabel] === undefined && !isLost(pod))
  if (hidden.length > 0) return hidden.map(pod => ({ type: 'serve', pod }))
  // Without quorum no change is possible, and a pod may have data that nothing else has.
  if (members === undefined) return []
  const names = new Set(members.map(nameOf))
  const leftovers = pods.filter(pod => !names.has(pod.metadata.name) && !isBeingDeleted(pod))
  if (leftovers.length > 0) return leftovers.map(pod => ({ type: 'delete-pod', pod }))

  const failure = members.map(member => [member, failureOf(member, state, status)] as const)
  const failed = failure.filter(([, reason]) => reason !== undefined)
  const [first] = [...failed.filter(([member]) => member.isLearner), ...failed]
  if (first !== undefined) return planRemoval(state, first[0], first[1] ?? '')
  // A silent member either answers again or counts as failed later.
  if (members.some(member => !responding.has(nameOf(member)))) return []

  const learner = members.find(member => member.isLearner)
  if (learner !== undefined) return [{ type: 'promote', member: learner }]
  if (members.length < cluster.spec.size) return [{ type: 'add-learner', name: newName }]
  if (members.length === cluster.spec.size) return []
  const newest = newestOf(pods)
  const surplus = members.find(member => nameOf(member) === newest?.metadata.name)
  return surplus === undefined ? [] : planRemoval(state, surplus, 'the cluster is scaled down')
}

/** A failed voter is kept as long as the others that answer are no quorum without it. */
function planRemoval(
  { members = [], responding }: EtcdState,
  member: EtcdMember,
  reason: string,
): readonly MembershipAction[] {
  const others = members.filter(each => !each.isLearner && each.id !== member.id)
  const answering = others.filter(each => responding.has(nameOf(each)))
  const isSafe = member.isLearner || answering.length >= quorumOf(others.length)
  return isSafe && answering.length > 0 ? [{ type: 'remove', member, reason }] : []
}

export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1
}

/** The reason why the member must be replaced. */
function failureOf(
  member: EtcdMember,
  { cluster, pods, nowMs }: EtcdState,
  status: EtcdClusterStatus,
): string | undefined {
  const name = nameOf(member)
  const pod = pods.find(({ metadata }) => metadata.name === name)
  if (pod === undefined) return 'its pod does not exist'
  if (isLost(pod)) return 'its pod has terminated'
  // A learner does no harm, and its pod may be waiting for a node or an image.
  if (member.isLearner && pod.status?.phase !== 'Running') return undefined
  const since = status.members?.find(each => each.name === name)?.silentSince
  const silentMs = since === undefined ? 0 : nowMs - Date.parse(since)
  const timeoutMs = cluster.spec.memberTimeoutSeconds * 1_000
  return silentMs >= timeoutMs ? `it has not answered since ${since}` : undefined
}

/** The containers have terminated, or will: the data is lost. */
function isLost(pod: Pod): boolean {
  return isBeingDeleted(pod) || pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded'
}

function newestOf(pods: readonly Stored<Pod>[]): Stored<Pod> | undefined {
  const ageOf = ({ metadata }: Stored<Pod>): string => `${metadata.creationTimestamp} ${metadata.name}`
  return pods.toSorted((left, right) => ageOf(right).localeCompare(ageOf(left)))[0]
}

function planStatus({ cluster, pods, members, responding, nowMs }: EtcdState): EtcdClusterStatus {
  const { status: before = {}, metadata } = cluster
  const now = new Date(nowMs).toISOString().replace(/\.\d+/, '')
  const silentSince = (name: string): string => {
    return before.members?.find(each => each.name === name)?.silentSince ?? now
  }
  const names = members?.map(nameOf) ?? before.members?.map(({ name }) => name) ?? []
  const memberStatus = names.toSorted().map((name): MemberStatus => {
    return responding.has(name) ? { name } : { name, silentSince: silentSince(name) }
  })
  const voters = members?.filter(member => !member.isLearner)
  const isSeedUp =
    voters?.length === 1 && pods.some(pod => !isLost(pod) && nameOf(voters[0]!) === pod.metadata.name)
  const bootstrapped = before.bootstrapped === true || isSeedUp
  return {
    ...before,
    bootstrapped,
    selector: `${clusterLabel}=${metadata.name},${servingLabel}=true`,
    size: voters?.length ?? before.size ?? 0,
    readyMembers: voters?.filter(member => responding.has(nameOf(member))).length ?? 0,
    members: memberStatus,
    conditions: withCondition(before.conditions, {
      ...availability(bootstrapped, members),
      lastTransitionTime: now,
    }),
  }
}

function availability(bootstrapped: boolean, members: unknown): Condition & { readonly type: string } {
  const type = 'Available'
  if (members !== undefined) return { type, status: 'True', reason: 'Quorum', message: 'A quorum answers' }
  if (bootstrapped)
    return { type, status: 'False', reason: 'NoQuorum', message: 'No quorum of the members answers' }
  return { type, status: 'False', reason: 'Bootstrapping', message: 'The first member does not answer yet' }
}
