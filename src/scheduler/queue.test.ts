import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { Simulation } from '#/platform/simulated.ts'
import { prioritySort } from './plugins/priority-sort.ts'
import { pluginOf } from './plugins/test-plugin.ts'
import { SchedulingQueue, type ClusterEvent } from './queue.ts'
import { podOf, stored } from './test-cluster.ts'

const { queueSort } = pluginOf(prioritySort)
const { preEnqueue } = {
  preEnqueue: ({ spec }: Pod) => (spec?.schedulingGates?.length ? { reason: 'gated' } : undefined),
}

const flushMs = 300_000

/** `a5` is a pod `a` of priority 5. */
function podNamed(text: string, changes: Partial<Pod['spec']> = {}): Stored<Pod> {
  const [, name = '', priority = '0'] = /^([a-z]+)(\d*)$/.exec(text) ?? []
  return stored(podOf(name, { uid: `uid-${name}`, priority: Number(priority), ...changes }))
}

const key = (name: string): string => `default/${name}`
const gate = { schedulingGates: [{ name: 'wait' }] }

/** An event with a queueing hint for pods rejected by this plugin. */
const helping = (plugin: string): ClusterEvent => ({
  label: 'NodeAdd',
  queueingHint: (_pod, plugins) => plugins.has(plugin),
})

function start() {
  const simulation = new Simulation({ seed: 1 })
  const queue = new SchedulingQueue({ clock: simulation.clock, queueSort: queueSort!, preEnqueue })
  /** The pod taken from the queue now, without waiting. */
  const pop = async (): Promise<string> => {
    if (queue.sizes.active === 0) return ''
    return (await queue.pop())?.pod.metadata.name ?? ''
  }
  const popAll = async (): Promise<string> => {
    const names: string[] = []
    for (let name = await pop(); name !== ''; name = await pop()) names.push(name)
    return names.join(' ')
  }
  const addUnschedulable = (name: string, ...plugins: readonly string[]): void =>
    queue.addUnschedulable(key(name), new Set(plugins))
  return { simulation, queue, pop, popAll, addUnschedulable, advance: (ms: number) => simulation.advance(ms) }
}

const orders: readonly (readonly [added: string, taken: string])[] = [
  ['a b c', 'a b c'],
  ['a b5 c', 'b a c'],
  ['a1 b2 c3', 'c b a'],
  ['a5 b5 c9 d5', 'c a b d'],
  ['a1000000000 b2000000000', 'b a'],
]

for (const [added, taken] of orders) {
  test(`pods ${added} are popped in the order ${taken}`, async () => {
    const { queue, popAll } = start()
    for (const name of added.split(' ')) queue.addOrUpdate(podNamed(name))
    assert.equal(await popAll(), taken)
  })
}

test('a pending pop gets the next pod, or undefined when the queue is closed', async () => {
  const { queue } = start()
  const [first, second, third] = [queue.pop(), queue.pop(), queue.pop()]
  queue.addOrUpdate(podNamed('a'))
  queue.addOrUpdate(podNamed('b'))
  assert.deepEqual([(await first)?.key, (await second)?.key], [key('a'), key('b')])
  queue.close()
  assert.equal(await third, undefined)
  assert.equal(await queue.pop(), undefined)
})

test('a failed pod is queued behind pods added meanwhile', async () => {
  const { queue, pop, popAll, addUnschedulable, advance } = start()
  queue.addOrUpdate(podNamed('a'))
  await pop()
  queue.addOrUpdate(podNamed('b'))
  await advance(10)
  addUnschedulable('a', 'Fit')
  queue.moveAllToActiveOrBackoffQueue(helping('Fit'))
  await advance(1_000)
  assert.equal(await popAll(), 'b a')
})

test('the backoff doubles up to its maximum, after errors too', async () => {
  const { queue, addUnschedulable, pop, advance } = start()
  queue.addOrUpdate(podNamed('a'))
  await pop()
  for (const seconds of [1, 2, 4, 8, 10, 10]) {
    addUnschedulable('a')
    assert.equal(queue.sizes.backoff, 1)
    await advance(seconds * 1_000 - 1)
    assert.equal(await pop(), '')
    await advance(1)
    assert.equal(await pop(), 'a', `after ${seconds} s`)
  }
})

test('an unschedulable pod is requeued by an event with a positive hint, or after five minutes', async () => {
  const { queue, addUnschedulable, popAll, advance } = start()
  for (const name of ['a', 'b', 'c']) queue.addOrUpdate(podNamed(name))
  await popAll()
  addUnschedulable('a', 'Fit')
  addUnschedulable('b', 'Taint', 'Fit')
  addUnschedulable('c', 'Affinity')
  await advance(20_000)
  assert.equal(queue.sizes.unschedulable, 3)
  queue.moveAllToActiveOrBackoffQueue(helping('Other'))
  assert.equal(queue.sizes.unschedulable, 3)
  queue.moveAllToActiveOrBackoffQueue(helping('Fit'))
  assert.equal(await popAll(), 'a b')
  await advance(flushMs - 20_001)
  assert.equal(await popAll(), '')
  await advance(1)
  assert.equal(await popAll(), 'c')
})

test('an event during the backoff requeues the pod', async () => {
  const { queue, addUnschedulable, pop, popAll, advance } = start()
  queue.addOrUpdate(podNamed('a'))
  await pop()
  addUnschedulable('a', 'Fit')
  queue.moveAllToActiveOrBackoffQueue(helping('Fit'))
  assert.equal(queue.sizes.backoff, 1)
  await advance(1_000)
  assert.equal(await popAll(), 'a')
})

test('events during the scheduling of a pod requeue it', async () => {
  const { queue, addUnschedulable, pop } = start()
  queue.addOrUpdate(podNamed('a'))
  queue.addOrUpdate(podNamed('b'))
  queue.addOrUpdate(podNamed('c'))
  await pop()
  queue.moveAllToActiveOrBackoffQueue(helping('Fit'))
  await pop()
  queue.moveAllToActiveOrBackoffQueue(helping('Taint'))
  await pop()
  addUnschedulable('a', 'Fit')
  addUnschedulable('b', 'Fit')
  addUnschedulable('c', 'Taint')
  assert.deepEqual({ ...queue.sizes }, { active: 0, backoff: 1, unschedulable: 2, gated: 0, inFlight: 0 })
})

test('if too many events occur during scheduling the pod is requeued', async () => {
  const { queue, addUnschedulable, pop } = start()
  queue.addOrUpdate(podNamed('a'))
  await pop()
  queue.moveAllToActiveOrBackoffQueue(helping('Fit'))
  for (let count = 0; count < 2_000; count++) queue.moveAllToActiveOrBackoffQueue(helping('Other'))
  addUnschedulable('a', 'Fit')
  assert.equal(queue.sizes.backoff, 1)
})

test('a relevant update requeues a pod that is unschedulable or being scheduled', async () => {
  const { queue, addUnschedulable, popAll, advance } = start()
  for (const name of ['a', 'b', 'c']) queue.addOrUpdate(podNamed(name))
  await popAll()
  queue.addOrUpdate(podNamed('c', { tolerations: [] }))
  for (const name of ['a', 'b', 'c']) addUnschedulable(name, 'Taint')
  queue.addOrUpdate(podNamed('a', { tolerations: [] }))
  queue.addOrUpdate(podNamed('b'), false)
  await advance(1_000)
  assert.equal(await popAll(), 'a c')
})

test('a gated pod is queued only after its gates are removed', async () => {
  const { queue, popAll, advance } = start()
  queue.addOrUpdate(podNamed('a', gate))
  queue.moveAllToActiveOrBackoffQueue({ label: 'NodeAdd', queueingHint: () => true })
  queue.activate(key('a'))
  await advance(2 * flushMs)
  assert.equal(queue.sizes.gated, 1)
  queue.addOrUpdate(podNamed('a'))
  assert.equal(await popAll(), 'a')
})

test('a pod with the same name and another uid is a new pod', async () => {
  const { queue, pop, popAll } = start()
  queue.addOrUpdate(podNamed('a'))
  await pop()
  const other = stored(podOf('a', { uid: 'other' }))
  queue.addOrUpdate(other)
  assert.deepEqual({ ...queue.sizes }, { active: 1, backoff: 0, unschedulable: 0, gated: 0, inFlight: 0 })
  assert.equal(await popAll(), 'a')
})

test('a deleted pod is removed from every queue', async () => {
  const { queue, addUnschedulable, pop, popAll, advance } = start()
  for (const name of ['a', 'b', 'c', 'd']) queue.addOrUpdate(podNamed(name))
  queue.addOrUpdate(podNamed('e', gate))
  for (let count = 0; count < 3; count++) await pop()
  addUnschedulable('a')
  addUnschedulable('b', 'Fit')
  for (const name of ['a', 'b', 'c', 'd', 'e']) queue.delete(key(name))
  addUnschedulable('c', 'Fit')
  await advance(2 * flushMs)
  assert.equal(await popAll(), '')
  assert.deepEqual({ ...queue.sizes }, { active: 0, backoff: 0, unschedulable: 0, gated: 0, inFlight: 0 })
  assert.ok(queue.isIdle && !queue.hasEventConsumers)
})

test('an activated pod skips the backoff, unless it is gated', async () => {
  const { queue, addUnschedulable, pop, popAll } = start()
  queue.addOrUpdate(podNamed('a'))
  await pop()
  addUnschedulable('a', 'Fit')
  queue.activate(key('a'))
  assert.equal(await popAll(), 'a')
})

type Step =
  | { readonly type: 'set'; readonly name: string; readonly priority: number; readonly isGated: boolean }
  | { readonly type: 'delete' | 'activate'; readonly name: string }
  | { readonly type: 'pop' }
  | { readonly type: 'addUnschedulable'; readonly plugin: string }
  | { readonly type: 'happen'; readonly plugin: string }
  | { readonly type: 'advance'; readonly ms: number }

const names = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const plugins = fc.constantFrom('', 'Fit', 'Taint')

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('set'),
      name: names,
      priority: fc.nat(2),
      isGated: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('delete', 'activate'), name: names }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('pop') }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('addUnschedulable'), plugin: plugins }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('happen'), plugin: plugins }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('advance'), ms: fc.constantFrom(1, 500, 3_000, flushMs) }),
  },
)

/** Expected state: the queued pods by name, the gated ones, and those being scheduled. */
interface Model {
  readonly known: Map<string, boolean>
  readonly inFlight: string[]
}

async function perform(
  step: Step,
  queue: ReturnType<typeof start>,
  { known, inFlight }: Model,
): Promise<void> {
  switch (step.type) {
    case 'set':
      queue.queue.addOrUpdate(
        podNamed(`${step.name}${step.priority}`, step.isGated && !known.has(step.name) ? gate : {}),
      )
      known.set(step.name, step.isGated && !known.has(step.name))
      return
    case 'delete':
      queue.queue.delete(key(step.name))
      known.delete(step.name)
      if (inFlight.includes(step.name)) inFlight.splice(inFlight.indexOf(step.name), 1)
      return
    case 'activate':
      return queue.queue.activate(key(step.name))
    case 'pop': {
      const name = await queue.pop()
      if (name !== '') inFlight.push(name)
      return
    }
    case 'addUnschedulable': {
      const name = inFlight.shift()
      if (name !== undefined) queue.addUnschedulable(name, ...(step.plugin === '' ? [] : [step.plugin]))
      return
    }
    case 'happen':
      return queue.queue.moveAllToActiveOrBackoffQueue(helping(step.plugin))
    case 'advance':
      return queue.advance(step.ms)
  }
}

test('property: no pod is lost, popped twice or out of order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60 }), async script => {
      const queue = start()
      const model: Model = { known: new Map(), inFlight: [] }
      for (const step of script) {
        await perform(step, queue, model)
        const { active, backoff, unschedulable, gated, inFlight } = queue.queue.sizes
        assert.equal(active + backoff + unschedulable + gated + inFlight, model.known.size)
        assert.equal(inFlight, model.inFlight.length)
        assert.equal(new Set(model.inFlight).size, model.inFlight.length)
      }
      // Every pod that is not gated is retried eventually, even without events.
      while (model.inFlight.length > 0)
        await perform({ type: 'addUnschedulable', plugin: 'Fit' }, queue, model)
      await queue.advance(2 * flushMs)
      const left: Pod[] = []
      while (queue.queue.sizes.active > 0) left.push((await queue.queue.pop())!.pod)
      const free = [...model.known].filter(([, isGated]) => !isGated).map(([name]) => name)
      assert.deepEqual(new Set(left.map(({ metadata }) => metadata.name)), new Set(free))
      assert.equal(left.length, free.length)
      const priorities = left.map(({ spec }) => spec?.priority ?? 0)
      assert.deepEqual(
        priorities,
        priorities.toSorted((one, other) => other - one),
      )
    }),
    { numRuns: 200 },
  )
})
