import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from 'k8ts/api/core/v1'
import type { Stored } from 'k8ts/api/metadata'
import type { EtcdMember } from './etcd-client.ts'
import type { EtcdCluster, EtcdClusterStatus } from './etcd-cluster.ts'
import { backupPod, isMemberPod, memberPod, nameOf, peerUrlOf, seedPod, servingLabel } from './member-pod.ts'
import { planEtcdCluster, quorumOf, type EtcdAction, type EtcdState } from './plan-etcd-cluster.ts'

const nowMs = Date.parse('2026-03-01T12:00:00Z')
const timeAgo = (seconds: number): string => new Date(nowMs - seconds * 1_000).toISOString()

function stored<T extends Pod | EtcdCluster>(object: T, name: string, createdAgo = 0): Stored<T> {
  const creationTimestamp = timeAgo(createdAgo)
  return {
    ...object,
    metadata: { ...object.metadata, name, uid: name, resourceVersion: '1', creationTimestamp },
  }
}

function clusterOf(spec: Partial<EtcdCluster['spec']>, status: EtcdClusterStatus): Stored<EtcdCluster> {
  const metadata = { namespace: 'default', name: 'db' }
  const full = { size: 3, image: 'etcd', memberTimeoutSeconds: 60, ...spec }
  const object = { apiVersion: 'etcd.example.com/v1', kind: 'EtcdCluster', metadata, spec: full, status }
  return stored(object, 'db')
}

/**
 * `3: a+ b- ~c+` is a cluster of size 3 with the members a and b and the learner c. A member answers (+), is
 * silent (-), is silent for too long (!), has a pod that has terminated (x), is being deleted (d) or is pending (p),
 * or has no pod (0). `(e)` is a pod that is not a member, `<a>` a member without serving label. `3?` has no quorum.
 */
function stateOf(text: string, more: Partial<EtcdCluster['spec']> = {}): EtcdState {
  const [head = '', rest = ''] = text.split(':')
  const status = { bootstrapped: true, members: [] as { name: string; silentSince: string }[] }
  const cluster = clusterOf({ size: Number.parseInt(head, 10), ...more }, status)
  const members: EtcdMember[] = []
  const pods: Stored<Pod>[] = []
  const responding = new Set<string>()
  for (const [index, token] of rest.trim().split(' ').filter(Boolean).entries()) {
    const [, mark = '', name = '', state = ''] = /^([(<~]?)([a-z])[)>]?([-+!xdp0])$/.exec(token) ?? []
    const peerUrl = peerUrlOf(cluster, name)
    if (mark !== '(') members.push({ id: `id-${name}`, peerUrl, isLearner: mark === '~' })
    if (state === '+') responding.add(name)
    if (state === '-' || state === '!') {
      status.members.push({ name, silentSince: timeAgo(state === '!' ? 61 : 59) })
    }
    if (state !== '0') pods.push(podIn(cluster, { name, state, isHidden: mark === '<', index }))
  }
  return {
    cluster,
    pods,
    hasService: true,
    members: head.endsWith('?') ? undefined : members,
    responding,
    nowMs,
    newName: 'new',
  }
}

interface PodText {
  readonly name: string
  readonly state: string
  readonly isHidden: boolean
  readonly index: number
}

function podIn(cluster: Stored<EtcdCluster>, { name, state, isHidden, index }: PodText): Stored<Pod> {
  const pod = stored(memberPod(cluster, name, []), name, 100 - index)
  const { [servingLabel]: _serving, ...labels } = pod.metadata.labels ?? {}
  const phase = state === 'x' ? 'Failed' : state === 'p' ? 'Pending' : 'Running'
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(isHidden && { labels }),
      ...(state === 'd' && { deletionTimestamp: timeAgo(1) }),
    },
    status: { phase },
  }
}

function inShort(action: EtcdAction): string {
  switch (action.type) {
    case 'remove':
    case 'promote':
      return `${action.type} ${nameOf(action.member)}`
    case 'serve':
    case 'delete-pod':
      return `${action.type} ${action.pod.metadata.name}`
    case 'create-backup':
      return `${action.type} ${action.file} from ${action.member}`
    case 'add-learner':
    case 'create-service':
    case 'create-seed':
      return action.type
  }
}

function planned(state: EtcdState): string {
  return planEtcdCluster(state).actions.map(inShort).join(', ')
}

test('membership changes one at a time, and never without quorum', () => {
  const check = (text: string, expected: string): void => assert.equal(planned(stateOf(text)), expected, text)
  // Scaling up.
  check('3: a+', 'add-learner')
  check('3: a+ ~b-', '')
  check('3: a+ ~b+', 'promote b')
  check('3: a+ b+', 'add-learner')
  check('3: a+ b+ ~c+', 'promote c')
  check('3: a+ b+ c+', '')
  // Scaling down, the newest first.
  check('1: a+ b+ c+', 'remove c')
  check('1: a+ b+', 'remove b')
  check('1: a+', '')
  check('3: a+ b+ c+ d+ e+', 'remove e')
  check('1: a+ ~b+', 'promote b')
  // Failed members.
  check('3: a+ b+ c0', 'remove c')
  check('3: a+ b+ cx', 'remove c')
  check('3: a+ b+ cd', 'remove c')
  check('3: a+ b+ c!', 'remove c')
  check('3: a+ b+ c-', '')
  check('3: a0 b+ c+', 'remove a')
  check('5: a+ b+ c+ d0 e!', 'remove d')
  check('5: a+ b+ c+ d- e0', 'remove e')
  // A learner is removed before a voter, and its pod may take long to start.
  check('3: a+ b! ~c0', 'remove c')
  check('3: a+ b+ ~cp', '')
  check('3: a+ b+ ~c!', 'remove c')
  // Removing it would leave no quorum.
  check('3: a+ b! c!', '')
  check('3: a+ b! c-', '')
  check('1: a+ b-', '')
  check('1: a!', '')
  // A silent member that has not failed yet delays other changes.
  check('5: a+ b+ c-', '')
  check('1: a+ b+ c-', '')
  // No quorum.
  check('3?: a+ b- c-', '')
  check('3?: a0 b0 c0', '')
  check('3?: a+ (d)+', '')
  // Leftovers of an interrupted change.
  check('3: a+ b+ c+ (d)+', 'delete-pod d')
  check('3: a+ b+ (d)d', 'add-learner')
  check('3: <a>+', 'serve a')
})

test('a removed voter leaves a quorum of answering voters, in all states of up to five members', () => {
  const letters = ['a', 'b', 'c', 'd', 'e']
  const flags = ['+', '-', '!', 'x', '0']
  const states = (length: number): string[][] => {
    return length === 0 ? [[]] : states(length - 1).flatMap(some => flags.map(flag => [...some, flag]))
  }
  let removals = 0
  for (let length = 1; length <= letters.length; length++) {
    for (const some of states(length)) {
      for (const size of [1, 3, 5]) {
        const text = `${size}: ${some.map((flag, index) => `${letters[index]}${flag}`).join(' ')}`
        const state = stateOf(text)
        const changes = planEtcdCluster(state).actions.filter(({ type }) => {
          return type === 'add-learner' || type === 'promote' || type === 'remove'
        })
        assert.ok(changes.length <= 1, text)
        const [change] = changes
        if (change?.type !== 'remove') continue
        removals++
        const others = (state.members ?? []).filter(({ id }) => id !== change.member.id)
        const answering = others.filter(member => state.responding.has(nameOf(member)))
        assert.ok(answering.length >= quorumOf(others.length), text)
      }
    }
  }
  assert.ok(removals > 500)
})

test('a cluster is bootstrapped once', () => {
  const fresh: EtcdState = { ...stateOf('3?:'), hasService: false, cluster: clusterOf({}, {}) }
  const { cluster } = fresh
  assert.equal(planned(fresh), 'create-service, create-seed')
  const seed = stored(seedPod(cluster), 'db-seed')
  assert.equal(seed.metadata.labels?.[servingLabel], undefined)
  const starting = { ...fresh, hasService: true, pods: [seed] }
  assert.equal(planned(starting), '')
  assert.equal(planEtcdCluster(starting).status.bootstrapped, false)
  const failed = { ...starting, pods: [{ ...seed, status: { phase: 'Failed' } }] }
  assert.equal(planned(failed), 'delete-pod db-seed')
  const member = { id: '1', peerUrl: peerUrlOf(cluster, 'db-seed'), isLearner: false }
  const up = { ...starting, members: [member], responding: new Set(['db-seed']) }
  const { status, actions } = planEtcdCluster(up)
  assert.deepEqual([status.bootstrapped, status.size, status.readyMembers, actions], [true, 1, 1, []])
  const recorded = { ...up, cluster: clusterOf({}, status) }
  assert.equal(planned(recorded), 'serve db-seed')
  const lost = planEtcdCluster({ ...recorded, pods: [], members: undefined, responding: new Set() })
  assert.deepEqual(lost.actions, [], 'never a second time')
  assert.deepEqual(
    lost.status.conditions?.map(({ type, status, reason }) => [type, status, reason]),
    [['Available', 'False', 'NoQuorum']],
  )
})

test('the seed of a restored cluster gets its data from the snapshot', () => {
  const restore = { claimName: 'backups', file: 'old-0.db' }
  const { spec } = seedPod(clusterOf({ restore }, {}))
  const [container] = spec?.initContainers ?? []
  assert.deepEqual(container?.command?.slice(0, 4), ['etcdctl', 'snapshot', 'restore', '/backup/old-0.db'])
  const dataFolder = /^--data-dir=/
  const folders = [container, spec?.containers[0]].map(each =>
    each?.command?.find(flag => dataFolder.test(flag)),
  )
  assert.equal(folders[0], folders[1])
})

test('backups are written one after the other, and the oldest is overwritten', () => {
  const backup = { claimName: 'backups', intervalSeconds: 600, retained: 2 }
  const check = (
    what: string,
    last: EtcdClusterStatus['backup'] | undefined,
    pods: readonly Stored<Pod>[],
  ) => {
    const state = stateOf(what, { backup })
    const status = { ...state.cluster.status, ...(last && { backup: last }) }
    return planEtcdCluster({
      ...state,
      cluster: clusterOf({ size: 1, backup }, status),
      pods: [...state.pods, ...pods],
    })
  }
  const actionsOf = (...[what, last, pods]: Parameters<typeof check>): string => {
    return check(what, last, pods).actions.map(inShort).join(', ')
  }
  const last = (ago: number, file: string) => ({ lastTime: timeAgo(ago), file, pod: 'done' })
  assert.equal(actionsOf('1: a+', undefined, []), 'create-backup db-0.db from a')
  assert.equal(actionsOf('1: a+', last(599, 'db-0.db'), []), '')
  assert.equal(actionsOf('1: a+', last(600, 'db-0.db'), []), 'create-backup db-1.db from a')
  assert.equal(actionsOf('1: a+', last(600, 'db-1.db'), []), 'create-backup db-0.db from a')
  assert.equal(actionsOf('1?: a-', last(600, 'db-1.db'), []), '')
  assert.equal(actionsOf('1: a+ b+', last(600, 'db-1.db'), []), 'remove b', 'no backup during a change')
  const podOf = (phase: string, createdAgo: number): Stored<Pod> => {
    const pod = backupPod(clusterOf({ backup }, {}), { name: 'job', file: 'db-1.db', member: 'a' })
    assert.equal(isMemberPod(pod), false)
    return { ...stored(pod, 'job', createdAgo), status: { phase } }
  }
  assert.equal(actionsOf('1: a+', last(900, 'db-0.db'), [podOf('Running', 900)]), '')
  assert.equal(actionsOf('1: a+', last(900, 'db-0.db'), [podOf('Failed', 29)]), '')
  assert.equal(actionsOf('1: a+', last(900, 'db-0.db'), [podOf('Failed', 30)]), 'delete-pod job')
  const done = check('1: a+', last(900, 'db-0.db'), [podOf('Succeeded', 30)])
  assert.deepEqual(done.status.backup, { lastTime: '2026-03-01T12:00:00Z', file: 'db-1.db', pod: 'job' })
  assert.deepEqual(done.actions, [])
  const recorded = { lastTime: timeAgo(1), file: 'db-1.db', pod: 'job' }
  assert.equal(actionsOf('1: a+', recorded, [podOf('Succeeded', 30)]), 'delete-pod job')
})
