import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Pod } from '#/api/generated/core/v1.ts'
import { Simulation } from '#/platform/simulated.ts'
import { prioritySort } from './plugins/priority-sort.ts'
import { pluginOf } from './plugins/test-plugin.ts'
import { SchedulingQueue, type ClusterEvent } from './queue.ts'
import { podOf } from './test-cluster.ts'

const { compare } = pluginOf(prioritySort)
const { preEnqueue } = {
  preEnqueue: ({ spec }: Pod) => (spec?.schedulingGates?.length ? { reason: 'gated' } : undefined),
}

const flushMs = 300_000

/** `a5` is a pod `a` of priority 5. */
function podNamed(text: string, changes: Partial<Pod['spec']> = {}): Pod {
  const [, name = '', priority = '0'] = /^([a-z]+)(\d*)$/.exec(text) ?? []
  return podOf(name, { uid: `uid-${name}`, priority: Number(priority), ...changes })
}

const key = (name: string): string => `default/${name}`
const gate = { schedulingGates: [{ name: 'wait' }] }

/** An event with a queueing hint for pods refused by this plugin. */
const helping = (plugin: string): ClusterEvent => ({ mayHelp: (_pod, plugins) => plugins.has(plugin) })

function start() {
  const simulation = new Simulation({ seed: 1 })
  const queue = new SchedulingQueue({ clock: simulation.clock, compare: compare!, preEnqueue })
  /** The pod taken from the queue now, without waiting. */
  const take = async (): Promise<string> => {
    if (queue.sizes.active === 0) return ''
    return (await queue.take())?.pod.metadata?.name ?? ''
  }
  const takeAll = async (): Promise<string> => {
    const names: string[] = []
    for (let name = await take(); name !== ''; name = await take()) names.push(name)
    return names.join(' ')
  }
  const refuse = (name: string, ...plugins: readonly string[]): void =>
    queue.refused(key(name), new Set(plugins))
  return { simulation, queue, take, takeAll, refuse, advance: (ms: number) => simulation.advance(ms) }
}

const orders: readonly (readonly [added: string, taken: string])[] = [
  ['a b c', 'a b c'],
  ['a b5 c', 'b a c'],
  ['a1 b2 c3', 'c b a'],
  ['a5 b5 c9 d5', 'c a b d'],
  ['a1000000000 b2000000000', 'b a'],
]

for (const [added, taken] of orders) {
  test(`pods ${added} are taken in the order ${taken}`, async () => {
    const { queue, takeAll } = start()
    for (const name of added.split(' ')) queue.set(podNamed(name))
    assert.equal(await takeAll(), taken)
  })
}

test('whoever waits for a pod gets the next one, until the queue is closed', async () => {
  const { queue } = start()
  const [first, second, third] = [queue.take(), queue.take(), queue.take()]
  queue.set(podNamed('a'))
  queue.set(podNamed('b'))
  assert.deepEqual([(await first)?.key, (await second)?.key], [key('a'), key('b')])
  queue.close()
  assert.equal(await third, undefined)
  assert.equal(await queue.take(), undefined)
})

test('one that failed goes behind those that came meanwhile', async () => {
  const { queue, take, takeAll, refuse, advance } = start()
  queue.set(podNamed('a'))
  await take()
  queue.set(podNamed('b'))
  await advance(10)
  refuse('a', 'Fit')
  queue.happened(helping('Fit'))
  await advance(1_000)
  assert.equal(await takeAll(), 'b a')
})

test('the pauses double up to a bound, and errors pause too', async () => {
  const { queue, refuse, take, advance } = start()
  queue.set(podNamed('a'))
  await take()
  for (const seconds of [1, 2, 4, 8, 10, 10]) {
    refuse('a')
    assert.equal(queue.sizes.backoff, 1)
    await advance(seconds * 1_000 - 1)
    assert.equal(await take(), '')
    await advance(1)
    assert.equal(await take(), 'a', `after ${seconds} s`)
  }
})

test('one that was refused waits for what may help it, and no longer than five minutes', async () => {
  const { queue, refuse, takeAll, advance } = start()
  for (const name of ['a', 'b', 'c']) queue.set(podNamed(name))
  await takeAll()
  refuse('a', 'Fit')
  refuse('b', 'Taint', 'Fit')
  refuse('c', 'Affinity')
  await advance(20_000)
  assert.equal(queue.sizes.waiting, 3)
  queue.happened(helping('Other'))
  assert.equal(queue.sizes.waiting, 3)
  queue.happened(helping('Fit'))
  assert.equal(await takeAll(), 'a b')
  await advance(flushMs - 20_001)
  assert.equal(await takeAll(), '')
  await advance(1)
  assert.equal(await takeAll(), 'c')
})

test('what helps during the pause is not waited for again', async () => {
  const { queue, refuse, take, takeAll, advance } = start()
  queue.set(podNamed('a'))
  await take()
  refuse('a', 'Fit')
  queue.happened(helping('Fit'))
  assert.equal(queue.sizes.backoff, 1)
  await advance(1_000)
  assert.equal(await takeAll(), 'a')
})

test('what happens while a pod is looked at counts when it is refused', async () => {
  const { queue, refuse, take } = start()
  queue.set(podNamed('a'))
  queue.set(podNamed('b'))
  queue.set(podNamed('c'))
  await take()
  queue.happened(helping('Fit'))
  await take()
  queue.happened(helping('Taint'))
  await take()
  refuse('a', 'Fit')
  refuse('b', 'Fit')
  refuse('c', 'Taint')
  assert.deepEqual({ ...queue.sizes }, { active: 0, backoff: 1, waiting: 2, gated: 0, taken: 0 })
})

test('when too much happens to remember, it is taken to help', async () => {
  const { queue, refuse, take } = start()
  queue.set(podNamed('a'))
  await take()
  queue.happened(helping('Fit'))
  for (let count = 0; count < 2_000; count++) queue.happened(helping('Other'))
  refuse('a', 'Fit')
  assert.equal(queue.sizes.backoff, 1)
})

test('a pod that changes is tried again, while it waits and when it is looked at, if the change matters', async () => {
  const { queue, refuse, takeAll, advance } = start()
  for (const name of ['a', 'b', 'c']) queue.set(podNamed(name))
  await takeAll()
  queue.set(podNamed('c', { tolerations: [] }))
  for (const name of ['a', 'b', 'c']) refuse(name, 'Taint')
  queue.set(podNamed('a', { tolerations: [] }))
  queue.set(podNamed('b'), false)
  await advance(1_000)
  assert.equal(await takeAll(), 'a c')
})

test('gates hold a pod back until they are gone, however often others are tried', async () => {
  const { queue, takeAll, advance } = start()
  queue.set(podNamed('a', gate))
  queue.happened({ mayHelp: () => true })
  queue.activate(key('a'))
  await advance(2 * flushMs)
  assert.equal(queue.sizes.gated, 1)
  queue.set(podNamed('a'))
  assert.equal(await takeAll(), 'a')
})

test('a pod of the same name is another pod', async () => {
  const { queue, take, takeAll } = start()
  queue.set(podNamed('a'))
  await take()
  const other = podOf('a', { uid: 'other' })
  queue.set(other)
  assert.deepEqual({ ...queue.sizes }, { active: 1, backoff: 0, waiting: 0, gated: 0, taken: 0 })
  assert.equal(await takeAll(), 'a')
})

test('those that are gone are gone wherever they were', async () => {
  const { queue, refuse, take, takeAll, advance } = start()
  for (const name of ['a', 'b', 'c', 'd']) queue.set(podNamed(name))
  queue.set(podNamed('e', gate))
  for (let count = 0; count < 3; count++) await take()
  refuse('a')
  refuse('b', 'Fit')
  for (const name of ['a', 'b', 'c', 'd', 'e']) queue.delete(key(name))
  refuse('c', 'Fit')
  await advance(2 * flushMs)
  assert.equal(await takeAll(), '')
  assert.deepEqual({ ...queue.sizes }, { active: 0, backoff: 0, waiting: 0, gated: 0, taken: 0 })
  assert.ok(queue.isIdle && !queue.cares)
})

test('one that is activated does not pause, unless it is held back', async () => {
  const { queue, refuse, take, takeAll } = start()
  queue.set(podNamed('a'))
  await take()
  refuse('a', 'Fit')
  queue.activate(key('a'))
  assert.equal(await takeAll(), 'a')
})

type Step =
  | { readonly type: 'set'; readonly name: string; readonly priority: number; readonly isGated: boolean }
  | { readonly type: 'delete' | 'activate'; readonly name: string }
  | { readonly type: 'take' }
  | { readonly type: 'refuse'; readonly plugin: string }
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
  { weight: 5, arbitrary: fc.record({ type: fc.constant('take') }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('refuse'), plugin: plugins }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('happen'), plugin: plugins }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('advance'), ms: fc.constantFrom(1, 500, 3_000, flushMs) }),
  },
)

/** Expected state: the queued pods by name, the gated ones, and those being scheduled. */
interface Model {
  readonly known: Map<string, boolean>
  readonly taken: string[]
}

async function perform(step: Step, queue: ReturnType<typeof start>, { known, taken }: Model): Promise<void> {
  switch (step.type) {
    case 'set':
      queue.queue.set(
        podNamed(`${step.name}${step.priority}`, step.isGated && !known.has(step.name) ? gate : {}),
      )
      known.set(step.name, step.isGated && !known.has(step.name))
      return
    case 'delete':
      queue.queue.delete(key(step.name))
      known.delete(step.name)
      if (taken.includes(step.name)) taken.splice(taken.indexOf(step.name), 1)
      return
    case 'activate':
      return queue.queue.activate(key(step.name))
    case 'take': {
      const name = await queue.take()
      if (name !== '') taken.push(name)
      return
    }
    case 'refuse': {
      const name = taken.shift()
      if (name !== undefined) queue.refuse(name, ...(step.plugin === '' ? [] : [step.plugin]))
      return
    }
    case 'happen':
      return queue.queue.happened(helping(step.plugin))
    case 'advance':
      return queue.advance(step.ms)
  }
}

test('nothing is forgotten, nobody is taken twice, and the order holds, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60 }), async script => {
      const queue = start()
      const model: Model = { known: new Map(), taken: [] }
      for (const step of script) {
        await perform(step, queue, model)
        const { active, backoff, waiting, gated, taken } = queue.queue.sizes
        assert.equal(active + backoff + waiting + gated + taken, model.known.size)
        assert.equal(taken, model.taken.length)
        assert.equal(new Set(model.taken).size, model.taken.length)
      }
      // Every pod that is not gated is retried eventually, even without events.
      while (model.taken.length > 0) await perform({ type: 'refuse', plugin: 'Fit' }, queue, model)
      await queue.advance(2 * flushMs)
      const left: Pod[] = []
      while (queue.queue.sizes.active > 0) left.push((await queue.queue.take())!.pod)
      const free = [...model.known].filter(([, isGated]) => !isGated).map(([name]) => name)
      assert.deepEqual(new Set(left.map(({ metadata }) => metadata?.name)), new Set(free))
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
