import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { compareDeferredResizes, planResize } from './resize-allocation.ts'
import { TestKubelet } from './test-kubelet.ts'

function asking(requests: Readonly<Record<string, string>>, spec: Pod['spec'] | object = {}): Pod {
  return { metadata: {}, spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }], ...spec } }
}

test('a resize is allocated, deferred or infeasible by the resources of the node and other pods', () => {
  const check = (has: string, wants: string, used: string, expected: string): void => {
    const [allocated, pod, other] = [has, wants, used].map(each => {
      const [cpu = '', memory = ''] = each.split(' ')
      return asking({ cpu, memory })
    }) as [Pod, Pod, Pod]
    const allocatable = { cpu: '4', memory: '4Gi', pods: '110' }
    const pending = planResize({ pod, allocated, allocatable, otherPods: [other] })
    assert.equal(pending === undefined ? 'allocated' : `${pending.reason}: ${pending.message}`, expected)
  }
  check('1 1Gi', '2 2Gi', '2 2Gi', 'allocated')
  check(
    '1 1Gi',
    '2 2Gi',
    '2500m 1Gi',
    "Deferred: Node didn't have enough resource: cpu, requested: 2000, used: 2500, capacity: 4000",
  )
  check(
    '1 1Gi',
    '1 3Gi',
    '1 2Gi',
    "Deferred: Node didn't have enough resource: memory, requested: 3221225472, used: 2147483648, capacity: 4294967296",
  )
  check(
    '1 1Gi',
    '5 1Gi',
    '0 0',
    "Infeasible: Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
  )
  // Lower requests are allocated although the node has more pods than it has room for.
  check('2 1Gi', '1 1Gi', '4 4Gi', 'allocated')
})

test('deferred resizes are retried by priority, QoS class and time', () => {
  const half = { cpu: '500m', memory: '1Gi' }
  const guaranteed = { containers: [{ name: 'c', image: 'i', resources: { requests: half, limits: half } }] }
  const resizes = [
    { name: 'late', pod: asking(half), sinceMs: 2 },
    { name: 'early', pod: asking(half), sinceMs: 1 },
    { name: 'guaranteed', pod: asking(half, guaranteed), sinceMs: 3 },
    { name: 'important', pod: asking(half, { priority: 10 }), sinceMs: 4 },
  ]
  assert.deepEqual(
    resizes.toSorted(compareDeferredResizes).map(({ name }) => name),
    ['important', 'guaranteed', 'early', 'late'],
  )
})

test('a pod keeps its resources until the node can allocate those of its resize', async t => {
  const node = await TestKubelet.start(t, { images: { i: { isPresent: true } } })
  const create = async (name: string, cpu: string): Promise<void> => {
    const container = { name: 'c', image: 'i', imagePullPolicy: 'IfNotPresent' }
    await node.create(name, { containers: [{ ...container, resources: { requests: { cpu } } }] })
  }
  const resize = async (name: string, cpu: string): Promise<void> => {
    const at = { namespace: 'default', name, subresource: 'resize' }
    const patch = { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } }
    await node.plane.run(node.plane.client.patch(pods, at, { type: 'strategic', patch }))
    await node.advance(2)
  }
  const check = async (name: string, expected: string): Promise<void> => {
    const { status } = (await node.find(name)) ?? {}
    const own = status?.containerStatuses?.[0]
    const resizing = (status?.conditions ?? []).filter(({ type }) => type.startsWith('PodResize'))
    const shown = resizing.map(({ type, reason = '' }) => `${type} ${reason}`.trim())
    assert.equal([own?.resources?.requests?.['cpu'], own?.restartCount, ...shown].join(' '), expected)
  }
  await create('big', '2')
  await create('small', '1')
  await create('other', '500m')
  await resize('big', '5')
  await check('big', '2 0 PodResizePending Infeasible')
  await resize('small', '3')
  await check('small', '1 0 PodResizePending Deferred')
  await resize('other', '1')
  await check('other', '1 0')

  await node.restart()
  await node.advance(2)
  await check('big', '2 0 PodResizePending Infeasible')
  await check('small', '1 0 PodResizePending Deferred')
  await node.delete('big')
  await node.advance(40)
  await check('small', '3 0')
  await resize('small', '3500m')
  await check('small', '3 0 PodResizePending Deferred')
  await resize('other', '500m')
  await check('small', '3500m 0')
})
