/** Observes a cluster, plans, and performs the plan. */
import { pods, services, type Pod } from 'k8ts/api/core/v1'
import { isBeingDeleted, type Stored } from 'k8ts/api/metadata'
import { isApiError } from 'k8ts/api/errors'
import { defineController, type ObjectRequest } from 'k8ts/controller'
import type { Operator } from 'k8ts/controller/operator'
import {
  isFromLearner,
  isLearnerNotReady,
  type EtcdCall,
  type EtcdClient,
  type EtcdMember,
} from './etcd-client.ts'
import { etcdClusters, type EtcdCluster } from './etcd-cluster.ts'
import {
  backupPod,
  clusterService,
  endpointOf,
  isMemberPod,
  memberPod,
  nameOf,
  peerUrlOf,
  seedPod,
  servingLabel,
} from './member-pod.ts'
import { planEtcdCluster, type EtcdAction, type EtcdState } from './plan-etcd-cluster.ts'

/** etcd answers a member list within milliseconds, and a membership change within an election. */
const callTimeoutMs = 5_000

type Request = ObjectRequest<EtcdCluster>

/** `plan` is replaced only in tests of the simulation. */
export function etcdOperator(etcd: EtcdClient, plan = planEtcdCluster): Operator {
  const controller = defineController<EtcdCluster>({
    name: 'etcd-controller',
    resource: etcdClusters,
    owns: [pods, services],
    reconcile: request => reconcile(etcd, request, plan),
  })
  return { name: 'etcd-operator', controllers: [controller] }
}

async function reconcile(etcd: EtcdClient, request: Request, plan: typeof planEtcdCluster) {
  const state = await observe(etcd, request)
  const { actions, status, requeueAfterMs } = plan(state)
  await request.setStatus(status)
  const { backup } = status
  if (backup !== undefined && backup.pod !== state.cluster.status?.backup?.pod) {
    record(request, 'BackedUp', `Wrote the snapshot ${backup.file}`)
  }
  for (const action of actions) await perform(action, { etcd, request, state })
  return { requeueAfterMs }
}

async function observe(etcd: EtcdClient, request: Request): Promise<EtcdState> {
  const { object: cluster, owned, platform } = request
  const all = owned(pods)
  const running = all.filter(pod => isMemberPod(pod) && !isBeingDeleted(pod) && endpointOf(pod) !== undefined)
  const answers = await Promise.all(running.map(pod => ask(etcd, request, pod)))
  const suffix = Buffer.from(platform.random.bytes('name of a member', 5)).toString('hex')
  return {
    cluster,
    pods: all,
    hasService: owned(services).length > 0,
    members: answers.find(answer => answer?.members !== undefined)?.members,
    responding: new Set(answers.flatMap(answer => answer?.name ?? [])),
    nowMs: platform.clock.now(),
    newName: `${cluster.metadata.name}-${suffix}`,
  }
}

interface Answer {
  readonly name: string
  /** Absent if a learner answered. */
  readonly members?: readonly EtcdMember[]
}

/** Undefined if the member does not answer. */
async function ask(etcd: EtcdClient, request: Request, pod: Stored<Pod>): Promise<Answer | undefined> {
  const { name } = pod.metadata
  try {
    return { name, members: await call(request, endpointOf(pod)!, each => etcd.members(each)) }
  } catch (error) {
    request.signal.throwIfAborted()
    return isFromLearner(error) ? { name } : undefined
  }
}

interface Performing {
  readonly etcd: EtcdClient
  readonly request: Request
  readonly state: EtcdState
}

async function perform(action: EtcdAction, performing: Performing): Promise<void> {
  const { request } = performing
  const { object: cluster, client, signal } = request
  switch (action.type) {
    case 'create-service':
      await client.create(services, clusterService(cluster), { signal })
      return
    case 'create-seed':
      await client.create(pods, seedPod(cluster), { signal })
      return record(request, 'Bootstrapping', 'Created the first member')
    case 'serve': {
      const patch = { metadata: { labels: { [servingLabel]: 'true' } } }
      await client.patch(pods, action.pod.metadata, { type: 'merge', patch }, { signal })
      return
    }
    case 'delete-pod':
      return deletePod(request, action.pod)
    case 'create-backup':
      await client.create(pods, backupPod(cluster, action), { signal })
      return
    case 'add-learner':
    case 'promote':
    case 'remove':
      return changeMembers(action, performing)
  }
}

async function changeMembers(
  action: Extract<EtcdAction, { type: 'add-learner' | 'promote' | 'remove' }>,
  { etcd, request, state }: Performing,
): Promise<void> {
  const { object: cluster, client, signal } = request
  const voter = state.members?.find(each => {
    const isOther = action.type !== 'remove' || each.id !== action.member.id
    return isOther && !each.isLearner && state.responding.has(nameOf(each))
  })
  const pod = state.pods.find(({ metadata }) => voter !== undefined && metadata.name === nameOf(voter))
  if (pod === undefined) return
  const change = <T>(send: (each: EtcdCall) => Promise<T>): Promise<T> =>
    call(request, endpointOf(pod)!, send)
  if (action.type === 'add-learner') {
    const { name } = action
    const members = await change(each => etcd.addLearner(each, peerUrlOf(cluster, name)))
    await client.create(pods, memberPod(cluster, name, members), { signal })
    return record(request, 'MemberAdded', `Added the member ${name}`)
  }
  const name = nameOf(action.member)
  if (action.type === 'promote') {
    try {
      await change(each => etcd.promote(each, action.member.id))
    } catch (error) {
      // It is tried again with the next reconcile.
      if (isLearnerNotReady(error)) return
      throw error
    }
    return record(request, 'MemberPromoted', `The member ${name} votes`)
  }
  await change(each => etcd.remove(each, action.member.id))
  const removed = state.pods.find(({ metadata }) => metadata.name === name)
  if (removed !== undefined && !isBeingDeleted(removed)) await deletePod(request, removed)
  return record(request, 'MemberRemoved', `Removed the member ${name}: ${action.reason}`)
}

async function deletePod({ client, signal }: Request, { metadata }: Stored<Pod>): Promise<void> {
  try {
    await client.delete(pods, metadata, { signal, preconditions: { uid: metadata.uid } })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

function record({ recorder, object }: Request, reason: string, message: string): void {
  recorder.record(object, { type: 'Normal', reason, message })
}

/** Calls etcd with a timeout. */
async function call<T>(
  { platform, signal }: Request,
  endpoint: string,
  send: (each: EtcdCall) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController()
  const reason = new Error(`${endpoint} did not answer within ${callTimeoutMs} ms`)
  const timer = platform.clock.setTimer(callTimeoutMs, () => timeout.abort(reason))
  try {
    return await send({ endpoint, signal: AbortSignal.any([signal, timeout.signal]) })
  } finally {
    timer.cancel()
  }
}
