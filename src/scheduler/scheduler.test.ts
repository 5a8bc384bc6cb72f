import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { internalError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { events, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Pass } from '#/api/origin.ts'
import { defaultPlugins } from './plugins.ts'
import type { Plugin } from './framework.ts'
import { profileOf, type ProfileFactory } from './profile.ts'
import { nodeOf, podOf, startTestCluster, type TestCluster, type TestClusterOptions } from './test-cluster.ts'

/** The default plugins with these in front. */
function profilesWith(...added: readonly Plugin[]): ProfileFactory {
  return handle => {
    const usual = [...defaultPlugins].map(([, { make, weight = 1 }]) => ({
      plugin: make(handle, {}),
      weight,
    }))
    const plugins = [...added.map(plugin => ({ plugin, weight: 1 })), ...usual]
    return [profileOf({ schedulerName: 'default-scheduler', plugins, percentageOfNodesToScore: 0 })]
  }
}

async function start(t: TestContext, options: TestClusterOptions = {}): Promise<TestCluster> {
  const cluster = await startTestCluster(t, options)
  await cluster.addNodes(nodeOf('a', { cpu: '2' }))
  return cluster
}

function scheduledOf({ status }: Pod): readonly unknown[] {
  const {
    status: state,
    reason,
    message,
  } = status?.conditions?.find(({ type }) => type === 'PodScheduled') ?? {}
  return [state, reason, message?.replace(/ no new claims.*| preemption: .*/, '')]
}

async function eventsAbout(cluster: TestCluster, name: string): Promise<readonly string[]> {
  const all = await cluster.list(events, 'default')
  return all
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ type, reason, message, source }) => {
      const about = message?.replace(/ no new claims.*| preemption: .*/, '')
      return `${source?.component ?? ''} ${type} ${reason}: ${about}`
    })
}

test('a pod is bound, and an event is recorded', async t => {
  const cluster = await start(t)
  await cluster.addPods(podOf('p'))
  const pod = await cluster.getPod('p')
  assert.equal(pod.spec?.nodeName, 'a')
  assert.deepEqual(scheduledOf(pod), ['True', undefined, undefined])
  assert.deepEqual(await eventsAbout(cluster, 'p'), [
    'default-scheduler Normal Scheduled: Successfully assigned default/p to a',
  ])
})

test('bindings and statuses carry the pass of their cycle: causes and steps', async t => {
  const cluster = await start(t)
  const created = await cluster.run(cluster.client.create(pods, podOf('p')))
  await cluster.settle()
  const [binding, ...others] = cluster.passes
  assert.deepEqual(others, [])
  assert.equal(binding?.request, 'POST /api/v1/namespaces/default/pods/p/binding')
  assert.deepEqual([binding.component, binding.key], ['default-scheduler', 'default/p'])
  assert.deepEqual(binding.causes, [Number(created.metadata.resourceVersion)])
  assert.ok(binding.queuedMs <= binding.startedMs)
  const stepsOf = ({ steps }: Pass): string => steps.map(({ name }) => name).join(' ')
  assert.equal(stepsOf(binding), 'snapshot prefilter filter reserve permit prebind bind')
  assert.equal(binding.steps.find(({ name }) => name === 'filter')?.detail, '1/1 nodes')
  // Then a pod for which a node is missing, with a node that requeues it.
  await cluster.addPods(podOf('q', { cpu: '3' }))
  const status = cluster.passes[1]
  assert.equal(status?.request, 'PATCH /api/v1/namespaces/default/pods/q/status')
  assert.equal(stepsOf(status), 'snapshot prefilter filter postfilter')
  assert.equal(status.steps[2]?.detail, '0/1 nodes')
  const pending = await cluster.getPod('q')
  const node = await cluster.run(cluster.client.create(nodes, nodeOf('b')))
  await cluster.advance(20_000)
  const moved = cluster.passes[2]
  const causes = [pending, node].map(({ metadata }) => Number(metadata.resourceVersion))
  assert.deepEqual(moved?.causes, causes)
  // It has waited for its backoff since the node was added.
  assert.ok(moved.queuedMs > status.startedMs && moved.queuedMs <= moved.startedMs)
})

test('an unschedulable pod gets a condition and an event once, and is bound when a node fits', async t => {
  const cluster = await start(t)
  await cluster.addNodes(nodeOf('b', { spec: { unschedulable: true } }), nodeOf('c', { memory: '1Mi' }))
  await cluster.addPods(podOf('old', { cpu: '2' }))
  await cluster.addPods(podOf('p', { cpu: '1', memory: '2Mi' }))
  const why =
    '0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) were unschedulable.'
  const waiting = await cluster.getPod('p')
  assert.deepEqual(scheduledOf(waiting), ['False', 'Unschedulable', why])
  const condition = waiting.status?.conditions?.[0]
  assert.equal(condition?.observedGeneration, waiting.metadata.generation)
  assert.deepEqual(await eventsAbout(cluster, 'p'), [`default-scheduler Warning FailedScheduling: ${why}`])
  // No retry and no status write.
  const version = waiting.metadata.resourceVersion
  await cluster.advance(60_000)
  assert.equal((await cluster.getPod('p')).metadata.resourceVersion, version)
  await cluster.deletePod('old')
  await cluster.advance(10_000)
  assert.equal((await cluster.places())['p'], 'a')
})

test('without nodes a pod is not retried before the first node is added', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addPods(podOf('p'))
  const pod = await cluster.getPod('p')
  assert.deepEqual(scheduledOf(pod), ['False', 'Unschedulable', 'no nodes available to schedule pods'])
  await cluster.advance(120_000)
  assert.equal((await cluster.list(events, 'default')).length, 1)
  await cluster.addNodes(nodeOf('a'))
  assert.deepEqual(await cluster.places(), { p: 'a' })
})

test('a pod with scheduling gates is not scheduled', async t => {
  const cluster = await start(t)
  await cluster.addPods(
    podOf('p', { schedulingGates: [{ name: 'example.com/a' }, { name: 'example.com/b' }] }),
  )
  assert.deepEqual(scheduledOf(await cluster.getPod('p')), [
    'False',
    'SchedulingGated',
    'Scheduling is blocked due to non-empty scheduling gates',
  ])
  const openTo = async (...left: readonly string[]): Promise<void> => {
    await cluster.change(pods, 'default/p', pod => {
      const { schedulingGates: _gates, ...spec } = pod.spec!
      return {
        ...pod,
        spec: { ...spec, ...(left.length > 0 && { schedulingGates: left.map(name => ({ name })) }) },
      }
    })
  }
  await openTo('example.com/b')
  await cluster.advance(600_000)
  assert.deepEqual(await cluster.places(), { p: '' })
  assert.deepEqual(await eventsAbout(cluster, 'p'), [])
  await openTo()
  assert.deepEqual(await cluster.places(), { p: 'a' })
})

test('after a failed binding the assumed pod is forgotten and retried', async t => {
  let failures = 2
  const rejected = (plural: string): Error | undefined =>
    plural === 'pods' && failures-- > 0 ? internalError('the disk is full') : undefined
  const cluster = await start(t, {
    admission: () => [
      {
        name: 'RejectBindings',
        handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === 'binding',
        validate({ resource }) {
          const error = rejected(resource.plural)
          if (error) throw error
        },
      },
    ],
  })
  await cluster.addPods(podOf('p', { cpu: '2' }))
  const [state, reason, message] = scheduledOf(await cluster.getPod('p'))
  assert.deepEqual([state, reason], ['False', 'SchedulerError'])
  assert.match(String(message), /the disk is full/)
  // Its node can be used by other pods meanwhile.
  failures = 0
  await cluster.addPods(podOf('q', { cpu: '2', priority: 5 }))
  assert.deepEqual(await cluster.places(), { p: '', q: 'a' })
  await cluster.deletePod('q')
  await cluster.advance(10_000)
  assert.deepEqual(await cluster.places(), { p: 'a' })
  assert.deepEqual(scheduledOf(await cluster.getPod('p')), ['True', undefined, undefined])
})

/** A plugin that blocks the binding of pods with names beginning with `slow` until `go` is called. */
function slowly(): Plugin & { readonly go: () => void; readonly undone: string[] } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const undone: string[] = []
  return {
    name: 'Slowly',
    preBind: ({ pod }) => (pod.metadata.name.startsWith('slow') ? promise : undefined),
    unreserve: ({ pod }) => void undone.push(pod.metadata.name),
    go: resolve,
    undone,
  }
}

test('an assumed pod counts on its node, and other pods are scheduled during its binding', async t => {
  const slow = slowly()
  const cluster = await start(t, { profiles: profilesWith(slow) })
  await cluster.addPods(
    podOf('slow', { cpu: '1500m' }),
    podOf('small', { cpu: '500m' }),
    podOf('large', { cpu: '1' }),
  )
  assert.deepEqual(await cluster.places(), { slow: '', small: 'a', large: '' })
  slow.go()
  await cluster.settle()
  assert.deepEqual(await cluster.places(), { slow: 'a', small: 'a', large: '' })
})

test('the resources of a pod deleted during its binding are released', async t => {
  const slow = slowly()
  const cluster = await start(t, { profiles: profilesWith(slow) })
  await cluster.addPods(podOf('slow', { cpu: '2' }))
  await cluster.addPods(podOf('other', { cpu: '2' }))
  await cluster.deletePod('slow')
  await cluster.advance(5_000)
  assert.deepEqual(await cluster.places(), { other: 'a' })
  slow.go()
  await cluster.settle()
  assert.deepEqual(slow.undone, ['slow'])
  assert.deepEqual(await cluster.places(), { other: 'a' })
})

test('a new pod with the name of one being bound is scheduled on its own', async t => {
  const slow = slowly()
  const cluster = await start(t, { profiles: profilesWith(slow) })
  await cluster.addPods(podOf('slow', { cpu: '2' }))
  await cluster.deletePod('slow')
  await cluster.addPods(podOf('slow', { cpu: '1', labels: { life: 'second' } }))
  slow.go()
  await cluster.advance(5_000)
  assert.deepEqual(await cluster.places(), { slow: 'a' })
  assert.equal((await cluster.getPod('slow')).metadata.labels?.['life'], 'second')
  await cluster.addPods(podOf('rest', { cpu: '1' }))
  assert.equal((await cluster.places())['rest'], 'a')
})

test('a pod bound by another client is not scheduled', async t => {
  const slow = slowly()
  const cluster = await start(t, { profiles: profilesWith(slow) })
  await cluster.addNodes(nodeOf('b', { cpu: '1' }))
  await cluster.addPods(podOf('slow', { cpu: '2' }))
  const at = { namespace: 'default', name: 'slow', subresource: 'binding' }
  const binding = { metadata: { namespace: 'default', name: 'slow' }, target: { kind: 'Node', name: 'b' } }
  await cluster.run(cluster.client.createSubresource(pods, at, binding))
  await cluster.settle()
  slow.go()
  await cluster.advance(5_000)
  assert.deepEqual(await cluster.places(), { slow: 'b' })
  // The assumed resources on the other node are released.
  await cluster.addPods(podOf('p', { cpu: '2' }))
  assert.equal((await cluster.places())['p'], 'a')
})

for (const point of ['reserve', 'permit'] as const) {
  test(`a pod rejected in ${point} is requeued`, async t => {
    let isOpen = false
    const say = (): { readonly reason: string } | undefined => (isOpen ? undefined : { reason: 'not today' })
    const gatekeeper: Plugin = {
      name: 'Gatekeeper',
      eventsToRegister: [{ resource: nodes, on: ['update'] }],
      ...(point === 'reserve' ? { reserve: say } : { permit: async () => say() }),
    }
    const cluster = await start(t, { profiles: profilesWith(gatekeeper) })
    await cluster.addNodes(nodeOf('b'))
    await cluster.addPods(podOf('p', { cpu: '2' }))
    const told = scheduledOf(await cluster.getPod('p'))
    assert.deepEqual(told, ['False', 'Unschedulable', '0/1 nodes are available: 1 not today.'])
    // The pod is retried only on the event that the plugin declares.
    isOpen = true
    await cluster.advance(60_000)
    assert.deepEqual(await cluster.places(), { p: '' })
    await cluster.change(nodes, 'a', node => ({ ...node, spec: { ...node.spec, unschedulable: true } }))
    await cluster.advance(5_000)
    assert.deepEqual(await cluster.places(), { p: 'b' })
  })
}

test('an error of a plugin fails only the pod it was called for', async t => {
  const faulty: Plugin = {
    name: 'Faulty',
    preFilter: ({ pod }) => {
      if (pod.metadata.name === 'bad') throw new Error('division by zero')
      return undefined
    },
  }
  const cluster = await start(t, { profiles: profilesWith(faulty) })
  await cluster.addPods(podOf('bad', { cpu: '1' }), podOf('good', { cpu: '1' }))
  assert.deepEqual(await cluster.places(), { bad: '', good: 'a' })
  const told = scheduledOf(await cluster.getPod('bad'))
  assert.deepEqual(told, ['False', 'SchedulerError', 'division by zero'])
})

test('removed nodes are not used, and added nodes are', async t => {
  const cluster = await start(t)
  await cluster.addPods(podOf('p', { cpu: '2' }))
  await cluster.addPods(podOf('q', { cpu: '2' }))
  await cluster.run(cluster.client.delete(nodes, { name: 'a' }))
  await cluster.deletePod('p')
  await cluster.advance(10_000)
  assert.deepEqual(await cluster.places(), { q: '' })
  await cluster.addNodes(nodeOf('b', { cpu: '2' }))
  await cluster.advance(10_000)
  assert.deepEqual(await cluster.places(), { q: 'b' })
})

test('after a start running pods count on their nodes and terminated pods do not', async t => {
  const cluster = await startTestCluster(t)
  const running = podOf('running', { cpu: '1', nodeName: 'a' })
  await cluster.addPods(running, podOf('ended', { cpu: '1', nodeName: 'a' }))
  await cluster.changeStatus(pods, 'default/ended', pod => ({ ...pod, status: { phase: 'Succeeded' } }))
  await cluster.addNodes(nodeOf('a', { cpu: '2' }))
  await cluster.addPods(podOf('p', { cpu: '1' }), podOf('q', { cpu: '1' }))
  const { p, q } = await cluster.places()
  assert.deepEqual([p, q], ['a', ''])
  await cluster.changeStatus(pods, 'default/running', pod => ({ ...pod, status: { phase: 'Failed' } }))
  await cluster.advance(10_000)
  assert.equal((await cluster.places())['q'], 'a')
})

test('resources released by an in-place resize are available after the node has applied it', async t => {
  const cluster = await start(t)
  await cluster.addPods(podOf('big', { cpu: '2' }))
  await cluster.addPods(podOf('p', { cpu: '1' }))
  const given = (cpu: string) => [
    {
      name: 'web',
      image: 'web',
      imageID: '',
      ready: true,
      restartCount: 0,
      allocatedResources: { cpu },
      resources: { requests: { cpu } },
    },
  ]
  await cluster.changeStatus(pods, 'default/big', pod => ({
    ...pod,
    status: { ...pod.status, phase: 'Running', containerStatuses: given('2') },
  }))
  const patch = { spec: { containers: [{ name: 'web', resources: { requests: { cpu: '1' } } }] } }
  const at = { namespace: 'default', name: 'big', subresource: 'resize' }
  await cluster.run(cluster.client.patch(pods, at, { type: 'strategic', patch }))
  await cluster.advance(20_000)
  assert.equal((await cluster.places())['p'], '')
  await cluster.changeStatus(pods, 'default/big', pod => ({
    ...pod,
    status: { ...pod.status, containerStatuses: given('1') },
  }))
  await cluster.advance(10_000)
  assert.equal((await cluster.places())['p'], 'a')
})

test('pods being deleted are not scheduled', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addPods({
    ...podOf('p'),
    metadata: { ...podOf('p').metadata, finalizers: ['example.com/stay'] },
  })
  await cluster.deletePod('p')
  assert.ok(isBeingDeleted(await cluster.getPod('p')))
  await cluster.addNodes(nodeOf('a'))
  assert.deepEqual(await cluster.places(), { p: '' })
})

test('the decision on a pod is cached with scores and reasons', async t => {
  const cluster = await start(t)
  await cluster.addNodes(nodeOf('b', { cpu: '8' }), nodeOf('c', { cpu: '100m' }))
  await cluster.addPods(podOf('p', { cpu: '1' }))
  const decision = cluster.scheduler.decisionOn('default/p')
  assert.equal(decision?.node, 'b')
  assert.equal(decision?.nodes, 3)
  assert.deepEqual(decision?.rejected, [
    { node: 'c', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu'] },
  ])
  assert.deepEqual(
    decision?.scored.map(({ node }) => node),
    ['b', 'a'],
  )
  assert.ok(decision.scored[0]!.scores['NodeResourcesFit']! > decision.scored[1]!.scores['NodeResourcesFit']!)
  await cluster.deletePod('p')
  assert.equal(cluster.scheduler.decisionOn('default/p'), undefined)
})
