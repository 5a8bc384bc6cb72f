/**
 * Adds a control plane host to the etcd of its cluster, in two steps that can each be repeated: `joinEtcdCluster` adds
 * the member as a learner, which has no vote, so that the cluster keeps its quorum while etcd starts on the host and
 * receives the data; `promoteEtcdMember` gives it a vote.
 */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import { isEtcdMembersError } from '#/store/etcd-members-error.ts'
import type { EtcdMember } from '#/store/etcd-members.ts'
import { repeatUntilDone, type EtcdOperation } from './etcd-operation.ts'

export interface JoiningEtcdMember {
  readonly name: string
  readonly peerUrls: readonly string[]
  readonly dataDir: string
}

export interface JoinedEtcdMember {
  readonly id: string
  /** For `planEtcdMember`. */
  readonly initialCluster: string
}

export interface JoinEtcdOptions extends EtcdOperation {
  readonly files: Pick<Platform['files'], 'stat'>
  readonly member: JoiningEtcdMember
}

/** Also when an earlier attempt has added the member. Rejects when the host and the cluster do not fit together. */
export async function joinEtcdCluster(options: JoinEtcdOptions): Promise<JoinedEtcdMember> {
  const { members, member, files, signal } = options
  const add = async (): Promise<JoinedEtcdMember> => {
    const hasData = (await files.stat(join(member.dataDir, 'member'))) !== undefined
    const plan = planEtcdJoin(await members.list({ signal }), { ...member, hasData })
    if (plan.type === 'refused') throw new Error(`cannot add etcd member ${member.name}: ${plan.reason}`)
    if (plan.type === 'added') return plan
    await members.addLearner(member.peerUrls, { signal }).catch((error: unknown) => {
      // The response to an earlier attempt was lost.
      if (!isEtcdMembersError(error, 'member-exists')) throw error
    })
    return add()
  }
  return repeatUntilDone(options, {
    what: `add etcd member ${member.name}`,
    // Another host is joining, or has joined in the last seconds.
    passing: ['too-many-learners', 'unhealthy'],
    attempt: add,
  })
}

export interface PromoteEtcdOptions extends EtcdOperation {
  readonly member: { readonly id: string; readonly name: string }
  /** The log of the member's process, for the error. */
  readonly logPath: string
}

/** Waits until the member, which must be running, has received the data, and gives it its vote. */
export async function promoteEtcdMember(options: PromoteEtcdOptions): Promise<void> {
  const { members, member, logPath, signal } = options
  await repeatUntilDone(options, {
    what: `promote etcd member ${member.name}`,
    passing: ['learner-not-ready', 'unhealthy', 'no-quorum', 'unavailable'],
    attempt: async () => {
      await members.promote(member.id, { signal }).catch((error: unknown) => {
        if (!isEtcdMembersError(error, 'not-learner')) throw error
      })
    },
    hint: `the log of the member is ${logPath}`,
  })
}

export type EtcdJoinPlan =
  | { readonly type: 'add' }
  | ({ readonly type: 'added' } & JoinedEtcdMember)
  | { readonly type: 'refused'; readonly reason: string }

export function planEtcdJoin(
  members: readonly EtcdMember[],
  joining: JoiningEtcdMember & { readonly hasData: boolean },
): EtcdJoinPlan {
  const { name, peerUrls, dataDir, hasData } = joining
  const own = members.find(each => each.peerUrls.some(url => peerUrls.includes(url)))
  const refuse = (reason: string): EtcdJoinPlan => ({ type: 'refused', reason })
  const namesake = members.find(each => each !== own && each.name === name)
  if (namesake) {
    const urls = namesake.peerUrls.join(', ')
    return refuse(`a member with this name is at ${urls}: choose another node name, or run k8ts reset there`)
  }
  if (own === undefined) {
    if (!hasData) return { type: 'add' }
    return refuse(`${dataDir} has the data of a member that is not in the cluster any more: run k8ts reset`)
  }
  if (own.name !== '' && !hasData) {
    const remove = `run k8ts reset on this host, or etcdctl member remove ${own.id}`
    return refuse(
      `the cluster has a member at ${peerUrls.join(', ')} whose data is not in ${dataDir}: ${remove}`,
    )
  }
  return { type: 'added', id: own.id, initialCluster: initialClusterOf(members, { own, name }) }
}

/** Names must differ here, and need not be those of the members. */
function initialClusterOf(
  members: readonly EtcdMember[],
  { own, name }: { readonly own: EtcdMember; readonly name: string },
): string {
  const nameOf = (member: EtcdMember): string => (member === own ? name : member.name || member.id)
  return members.flatMap(member => member.peerUrls.map(url => `${nameOf(member)}=${url}`)).join(',')
}
