/** Removes a control plane host from the etcd of its cluster. */
import { isEtcdMembersError } from '#/store/etcd-members-error.ts'
import type { EtcdMember } from '#/store/etcd-members.ts'
import { repeatUntilDone, type EtcdOperation } from './etcd-operation.ts'

export interface LeaveEtcdOptions extends EtcdOperation {
  /** Of the member, which need not be running. */
  readonly peerUrls: readonly string[]
}

/** The last member with a vote is not removed: the cluster ends when its process does. */
export type EtcdLeave = 'removed' | 'absent' | 'last-member'

/** Rejects when the cluster has no quorum, since then its members cannot be changed. */
export async function leaveEtcdCluster(options: LeaveEtcdOptions): Promise<EtcdLeave> {
  return repeatUntilDone(options, {
    what: `remove the etcd member at ${options.peerUrls.join(', ')}`,
    // A member has joined in the last seconds, or another one is down.
    passing: ['unhealthy'],
    attempt: () => leave(options),
  })
}

async function leave({ members, peerUrls, onProgress, signal }: LeaveEtcdOptions): Promise<EtcdLeave> {
  const plan = planEtcdLeave(await members.list({ signal }), peerUrls)
  if (plan.type !== 'remove') return plan.type
  const { member, others, endpoints } = plan
  await handOverLeadership({ members, member, others, onProgress, signal })
  // By way of the other members: one that is removed may end before it has answered.
  await members
    .remove(member.id, { signal, endpoints: [...endpoints, ...members.endpoints] })
    .catch((error: unknown) => {
      if (!isEtcdMembersError(error, 'member-not-found')) throw error
    })
  return 'removed'
}

export type EtcdLeavePlan =
  | { readonly type: 'absent' | 'last-member' }
  | {
      readonly type: 'remove'
      readonly member: EtcdMember
      /** With a vote, and started. */
      readonly others: readonly EtcdMember[]
      readonly endpoints: readonly string[]
    }

export function planEtcdLeave(members: readonly EtcdMember[], peerUrls: readonly string[]): EtcdLeavePlan {
  const member = members.find(each => each.peerUrls.some(url => peerUrls.includes(url)))
  if (member === undefined) return { type: 'absent' }
  const others = members.filter(each => each !== member && !each.isLearner && each.name !== '')
  if (others.length === 0) return { type: 'last-member' }
  return { type: 'remove', member, others, endpoints: others.flatMap(({ clientUrls }) => clientUrls) }
}

interface HandOver extends Pick<LeaveEtcdOptions, 'members' | 'onProgress' | 'signal'> {
  readonly member: EtcdMember
  readonly others: readonly EtcdMember[]
}

/**
 * Avoids the election, of a second or more, that follows the removal of a leader. Without effect when the member does
 * not answer or does not lead.
 */
async function handOverLeadership({ members, member, others, onProgress, signal }: HandOver): Promise<void> {
  const [endpoint] = member.clientUrls
  if (endpoint === undefined) return
  try {
    const { leaderId } = await members.status(endpoint, signal)
    if (leaderId !== member.id) return
    const successor = await newestOf({ members, others, signal })
    if (successor === undefined) return
    await members.moveLeader({ endpoint, toId: successor.id }, signal)
    onProgress(`etcd member ${successor.name} leads in place of ${member.name}`)
  } catch (error) {
    if (!isEtcdMembersError(error)) throw error
    onProgress(`etcd member ${member.name} does not hand over the leadership: ${error.message}`)
  }
}

/** The member that lacks the least of the log; undefined when none answers. */
async function newestOf(
  options: Pick<HandOver, 'members' | 'others' | 'signal'>,
): Promise<EtcdMember | undefined> {
  const { members, others, signal } = options
  const found = await Promise.all(
    others.map(async member => {
      try {
        const { raftAppliedIndex } = await members.status(member.clientUrls[0] ?? '', signal)
        return [{ member, raftAppliedIndex }]
      } catch (error) {
        if (!isEtcdMembersError(error)) throw error
        return []
      }
    }),
  )
  return found.flat().sort((left, right) => right.raftAppliedIndex - left.raftAppliedIndex)[0]?.member
}
