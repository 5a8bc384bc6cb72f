import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hop } from '#/trace/trace.ts'
import { laneRank, laneTitle, planPicture } from './plan-picture.ts'
import { planTimeScale } from './time-scale.ts'

function hop(id: string, actor: string, fields: Partial<Hop> & { at: number; takes?: number }): Hop {
  const { at, takes = 1, ...others } = fields
  const request = { kind: 'request' as const, name: 'request', startedMs: at, durationMs: takes }
  const pass = { kind: 'pass' as const, name: 'pass', startedMs: at - 1, durationMs: 1 }
  const isClient = others.passId === undefined
  return {
    id,
    type: 'write',
    actor,
    causes: [],
    depth: 0,
    startedMs: isClient ? at : at - 1,
    endedMs: at + takes,
    segments: isClient ? [request] : [pass, request],
    ...others,
  }
}

const chain: readonly Hop[] = [
  hop('1', 'admin', { at: 1_000 }),
  hop('2', 'deployment-controller', { at: 1_003, passId: 'a', parent: '1' }),
  hop('3', 'kubelet', { at: 1_010, passId: 'b', parent: '2', node: 'node-1' }),
  hop('4', 'endpointslice-controller', { at: 1_020, passId: 'c', parent: '3' }),
  hop('5', 'default-scheduler', { at: 1_008, passId: 'd', parent: '2' }),
]

const shown = chain.map(each => ({ hop: each }))

test('planPicture has a lane for each component, in the order of the chain', () => {
  const { lanes, height } = planPicture(shown)
  assert.deepEqual(
    lanes.map(({ title }) => title),
    [
      'Clients',
      'API server',
      'deployment-controller',
      'default-scheduler',
      'kubelet on node-1',
      'endpointslice-controller',
    ],
  )
  lanes.forEach((lane, index) => {
    const next = lanes[index + 1]
    assert.equal(lane.top + lane.height, next?.top ?? height)
  })
})

test('planPicture draws an arrow from each cause, and from each component to the API server', () => {
  const { arrows } = planPicture(shown)
  const texts = arrows.map(({ hop: { id }, cause }) => `${cause.id}>${id}`).sort()
  assert.deepEqual(texts, ['1>1', '1>2', '2>2', '2>3', '2>5', '3>3', '3>4', '4>4', '5>5'])
  for (const {
    from,
    to,
    hop: { id },
  } of arrows)
    assert.ok(from.x <= to.x + 10, id)
})

test('planPicture puts bars that overlap, with their labels, in different rows', () => {
  const many = Array.from({ length: 8 }, (_, index) =>
    hop(String(index), 'replicaset-controller', {
      at: 1_000 + index,
      passId: String(index),
      key: 'shop/web',
    }),
  )
  const bars = planPicture(many.map(each => ({ hop: each }))).bars.filter(({ type }) => type === 'pass')
  for (const [index, bar] of bars.entries()) {
    for (const other of bars.slice(index + 1)) {
      const isApart = bar.y !== other.y || bar.x + bar.width <= other.x || other.x + other.width <= bar.x
      assert.ok(isApart, `${bar.hop.id} and ${other.hop.id}`)
    }
  }
})

test('planPicture is bounded in height', () => {
  const many = Array.from({ length: 2_000 }, (_, index) =>
    hop(String(index), 'replicaset-controller', { at: 1_000, passId: String(index) }),
  )
  assert.ok(planPicture(many.map(each => ({ hop: each }))).height < 1_000)
})

test('planTimeScale does not move what is shown when later hops arrive', () => {
  const before = planTimeScale([0, 5, 10])
  const after = planTimeScale([0, 5, 10, 5_000])
  for (const timeMs of [0, 2, 5, 9, 10]) assert.equal(before.xOf(timeMs), after.xOf(timeMs), String(timeMs))
})

test('planTimeScale is monotonic, and timeAt is the inverse of xOf', () => {
  const scale = planTimeScale([0, 0.1, 3, 60_000], { widthMin: 700 })
  assert.ok(Math.abs(scale.width - 700) < 1e-6)
  let last = -1
  for (const timeMs of [0, 0.05, 0.1, 1, 3, 100, 60_000]) {
    const x = scale.xOf(timeMs)
    assert.ok(x > last, String(timeMs))
    assert.ok(Math.abs(scale.timeAt(x) - timeMs) < 1e-6, String(timeMs))
    last = x
  }
  assert.equal(planTimeScale([]).xOf(5), 0)
})

test('laneTitle and laneRank: clients, API server, controllers, scheduler, nodes, network', () => {
  assert.equal(laneTitle({ actor: 'admin' }), 'Clients')
  assert.equal(laneTitle({ actor: 'kubelet', passId: 'x', node: 'node-1' }), 'kubelet on node-1')
  const order = [
    'Clients',
    'API server',
    'replicaset-controller',
    'default-scheduler',
    'kubelet on node-1',
    'endpointslice-controller',
    'kube-proxy on node-1',
    'dns',
    'something else',
  ]
  assert.deepEqual(
    order.toSorted((left, right) => laneRank(left) - laneRank(right)),
    order,
  )
})

test('planPicture has one lane for a component of many nodes', () => {
  const many = Array.from({ length: 9 }, (_, index) =>
    hop(String(index), 'kubelet', { at: 1_000, passId: String(index), node: `node-${index}` }),
  )
  const titles = (count: number): readonly string[] =>
    planPicture(many.slice(0, count).map(each => ({ hop: each }))).lanes.map(({ title }) => title)
  assert.deepEqual(titles(2), ['API server', 'kubelet on node-0', 'kubelet on node-1'])
  assert.deepEqual(titles(9), ['API server', 'kubelet on several nodes'])
})
