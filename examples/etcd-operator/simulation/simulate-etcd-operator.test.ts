import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pods } from 'k8ts/api/core/v1'
import { nameOf } from '../member-pod.ts'
import { etcdClusters } from '../etcd-cluster.ts'
import { planEtcdCluster, type EtcdPlan, type EtcdState } from '../plan-etcd-cluster.ts'
import { at, backup, EtcdWorld, simulateEtcdOperator } from './simulate-etcd-operator.ts'

/** `simulation/run-seeds.ts` runs any number of seeds. */
const seedsOfEach = 25

for (const from of [0, 1_000, 2_000]) {
  test(`${seedsOfEach} seeds from ${from} without violations`, async () => {
    for (let seed = from; seed < from + seedsOfEach; seed++) {
      const { violations, trace } = await simulateEtcdOperator(seed)
      assert.deepEqual(violations, [], `seed ${seed}\n${trace.join('\n')}`)
    }
  })
}

test('a seed gives the same trace twice', async () => {
  const once = await simulateEtcdOperator(7)
  assert.deepEqual(await simulateEtcdOperator(7), once)
  assert.notDeepEqual((await simulateEtcdOperator(8)).trace, once.trace)
})

/** An operator with a defect, the violation that the simulation must report, and the first seed to try. */
interface Defect {
  readonly plan: (state: EtcdState) => EtcdPlan
  readonly violation: RegExp
  readonly from: number
}

const defects: Readonly<Record<string, Defect>> = {
  'scales down while a member is silent': {
    plan: state => {
      const plan = planEtcdCluster(state)
      const { members = [], responding, cluster } = state
      const voters = members.filter(member => !member.isLearner)
      const surplus = voters.find(member => responding.has(nameOf(member)))
      const isSurplus = voters.length > cluster.spec.size && surplus !== undefined
      if (!isSurplus || plan.actions.length > 0) return plan
      return { ...plan, actions: [{ type: 'remove', member: surplus, reason: 'surplus' }] }
    },
    violation: /cost the quorum/,
    from: 59,
  },
  'gives the name of a lost member to a new one, as a StatefulSet does': {
    plan: state => {
      const names = new Set(state.members?.map(nameOf))
      const ordinal = [0, 1, 2, 3, 4].find(each => !names.has(`db-${each}`))
      return planEtcdCluster({ ...state, newName: `db-${ordinal}` })
    },
    violation: /started again without its data/,
    from: 0,
  },
}

for (const [defect, { plan, violation, from }] of Object.entries(defects)) {
  test(`the simulation finds an operator that ${defect}`, async () => {
    for (let seed = from; seed < from + seedsOfEach; seed++) {
      const { violations } = await simulateEtcdOperator(seed, plan)
      if (violation.test(violations.join('\n'))) return
    }
    assert.fail('no seed reveals it')
  })
}

test('the simulation finds an operator that bootstraps a lost cluster again', async () => {
  const plan = (state: EtcdState): EtcdPlan => {
    const { cluster } = state
    return planEtcdCluster(state.pods.length > 0 ? state : { ...state, cluster: { ...cluster, status: {} } })
  }
  await using world = await EtcdWorld.start(1, plan)
  await world.createCluster(1)
  await world.untilSettled(600)
  await world.cluster.client.deleteCollection(pods, { namespace: 'default', gracePeriodSeconds: 0 })
  await world.advance(60)
  assert.deepEqual(world.violations, ['a second cluster was bootstrapped over existing data'])
})

test('a lost cluster is restored from its last snapshot', async () => {
  await using world = await EtcdWorld.start(1)
  const { client } = world.cluster
  await world.createVolume()
  await world.createCluster(3, { backup })
  await world.untilSettled(600)
  await world.advance(200)
  assert.deepEqual([...world.etcd.snapshots.keys()].toSorted(), ['db-0.db', 'db-1.db'])
  const file = (await client.get(etcdClusters, at)).status?.backup?.file ?? ''
  const stored = world.etcd.snapshots.get(file) ?? 0
  assert.ok(stored > 300, `${stored} entries`)

  await client.deleteCollection(pods, { namespace: 'default', gracePeriodSeconds: 0 })
  await world.advance(300)
  const lost = await client.get(etcdClusters, at)
  const available = lost.status?.conditions?.find(({ type }) => type === 'Available')
  assert.deepEqual([available?.status, available?.reason], ['False', 'NoQuorum'])
  assert.deepEqual(await world.memberPods(), [], 'it is not bootstrapped again')

  await client.delete(etcdClusters, at)
  await world.cluster.settle()
  await world.replaceEtcd()
  await world.createCluster(3, { restore: { claimName: backup.claimName, file } })
  await world.untilSettled(600)
  assert.ok(world.etcd.length > stored)
  assert.deepEqual(world.violations, [])
})
