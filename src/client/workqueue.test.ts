import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Simulation } from '#/platform/simulated.ts'
import { WorkQueue, type WorkQueueOptions } from './workqueue.ts'

test('keys of a work queue are deduplicated and processed in FIFO order', async () => {
  const { queue } = start()
  for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
  assert.deepEqual([await queue.get(), await queue.get(), await queue.get()], ['a', 'b', 'c'])
  assert.equal(queue.length, 0)
})

test('a key added while being processed is processed again afterwards', async () => {
  const { queue } = start()
  queue.add('a')
  assert.equal(await queue.get(), 'a')
  queue.add('a')
  queue.add('a')
  assert.equal(queue.length, 0)
  queue.done('a')
  assert.equal(queue.length, 1)
  assert.equal(await queue.get(), 'a')
  queue.done('a')
  assert.equal(queue.length, 0)
})

test('a waiting get returns the next key; an aborted one takes none', async () => {
  const { queue } = start()
  const controller = new AbortController()
  const leaving = queue.get(controller.signal)
  const staying = queue.get()
  queue.add('a')
  controller.abort(new Error('gone'))
  await assert.rejects(leaving, /gone/)
  assert.equal(await staying, 'a')
})

test('addAfter adds a key at the earliest requested time', async () => {
  const { queue, simulation } = start()
  const taken: string[] = []
  const run = queue.run({
    workers: 1,
    signal: simulation.host('a').signal,
    reconcile: async key => {
      taken.push(`${key} ${simulation.nowMs}`)
    },
  })
  const additions = [
    ['a', 500],
    ['b', 100],
    ['a', 200],
    ['b', 900],
    ['c', 0],
    ['d', -1],
  ] as const
  for (const [key, delayMs] of additions) queue.addAfter(key, delayMs)
  await simulation.advance(10_000)
  assert.deepEqual(taken, ['c 0', 'd 0', 'b 100', 'a 200'])
  queue.shutDown()
  await simulation.run(run)
})

test('a failing key is requeued with exponential backoff until it succeeds', async () => {
  const { queue, simulation } = start({ retryRate: { burst: 1e9, perSecond: 1e9 } })
  const times: number[] = []
  let failing = true
  const stop = new AbortController()
  const run = queue.run({
    workers: 2,
    signal: stop.signal,
    reconcile: async () => {
      times.push(simulation.nowMs)
      if (failing) throw new Error('not yet')
    },
  })
  queue.add('a')
  await simulation.advance(3 * 3_600_000)
  const waits = times.slice(1).map((time, index) => Math.round(time - times[index]!))
  assert.deepEqual(waits.slice(0, 4), [5, 10, 20, 40])
  assert.equal(Math.max(...waits), 1_000_000)
  assert.ok(waits.length > 20)
  failing = false
  await simulation.advance(1_000_000)
  assert.equal(queue.numRequeues('a'), 0)
  stop.abort()
  await simulation.run(run)
})

test('requeues of all failing keys are rate limited', async () => {
  const { queue, simulation } = start()
  let count = 0
  const stop = new AbortController()
  const run = queue.run({
    workers: 10,
    signal: stop.signal,
    reconcile: async () => {
      count++
      throw new Error('no')
    },
  })
  for (let index = 0; index < 500; index++) queue.add(`key-${index}`)
  await simulation.advance(10_000)
  const metrics = queue.metrics()
  assert.ok(count >= 500 + 100 + 90 && count <= 500 + 100 + 101, String(count))
  assert.equal(metrics.retries, metrics.done)
  stop.abort()
  await simulation.run(run)
})

test('a reconciler may request a requeue after a delay', async () => {
  const { queue, simulation } = start()
  const times: number[] = []
  const stop = new AbortController()
  const run = queue.run({
    workers: 1,
    signal: stop.signal,
    reconcile: async () => {
      times.push(simulation.nowMs)
      return { requeueAfterMs: 1_000 }
    },
  })
  queue.add('a')
  await simulation.advance(2_500)
  assert.deepEqual(times, [0, 1_000, 2_000])
  stop.abort()
  await simulation.run(run)
})

test('a queue that is shut down rejects keys and hands out the rest; draining waits for the last', async () => {
  const { queue, simulation } = start()
  queue.add('a')
  queue.add('b')
  queue.addAfter('later', 100)
  const worked: string[] = []
  const stop = new AbortController()
  const run = queue.run({
    workers: 1,
    signal: stop.signal,
    reconcile: async key => {
      await simulation.clock.sleep(50)
      // Added while it is being processed, but after the close.
      queue.add(key)
      worked.push(key)
    },
  })
  await simulation.run(queue.shutDownWithDrain())
  assert.deepEqual(worked, ['a', 'b'])
  queue.add('c')
  await simulation.run(run)
  assert.equal(await queue.get(), undefined)
  assert.deepEqual([queue.length, queue.metrics().delayed], [0, 0])
})

test('run starts no work after the abort and waits for running work', async () => {
  const { queue, simulation } = start()
  const stop = new AbortController()
  const ended: string[] = []
  const run = queue.run({
    workers: 2,
    signal: stop.signal,
    reconcile: async key => {
      await simulation.clock.sleep(100)
      ended.push(key)
    },
  })
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key)
  simulation.clock.setTimer(50, () => stop.abort())
  await simulation.run(run)
  assert.deepEqual(ended, ['a', 'b'])
  assert.equal(queue.length, 2)
})

test('work queue metrics count adds, retries and durations', async () => {
  const { queue, simulation } = start()
  queue.add('a')
  queue.add('b')
  queue.addAfter('c', 1_000)
  await simulation.advance(30)
  await queue.get()
  await simulation.advance(20)
  assert.deepEqual(queue.metrics(), {
    depth: 1,
    delayed: 1,
    processing: 1,
    longestRunningProcessorMs: 20,
    unfinishedWorkMs: 20,
    adds: 2,
    retries: 0,
    done: 0,
    queueDurationMs: 30,
    workDurationMs: 0,
  })
  queue.done('a')
  queue.done('never taken')
  assert.deepEqual([queue.metrics().done, queue.metrics().workDurationMs], [1, 20])
})

type Step = readonly ['add' | 'addAfter' | 'addRateLimited', string, number]

test('no key is processed concurrently, and each is processed after its last add (random schedules)', async () => {
  const step = fc.tuple(
    fc.constantFrom('add', 'addAfter', 'addRateLimited'),
    fc.constantFrom('a', 'b', 'c', '__proto__'),
    fc.nat(300),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.nat(1_000), async (steps, seed) => {
      const { queue, simulation } = start({}, seed)
      const lastAdd = new Map<string, number>()
      const lastStart = new Map<string, number>()
      const working = new Set<string>()
      const stop = new AbortController()
      let order = 0
      let isShared = false
      const run = queue.run({
        workers: 3,
        signal: stop.signal,
        reconcile: async key => {
          isShared ||= working.has(key)
          working.add(key)
          lastStart.set(key, order++)
          await simulation.clock.sleep(simulation.random.integer('work', 200))
          working.delete(key)
          if (simulation.random.fraction('fails') < 0.3) throw new Error('failed')
        },
      })
      await simulation.run(perform(steps))
      await simulation.advance(100_000)
      assert.equal(isShared, false, 'a key is with one worker at a time')
      for (const [key, added] of lastAdd) assert.ok((lastStart.get(key) ?? -1) > added, key)
      stop.abort()
      await simulation.run(run)

      async function perform(list: readonly Step[]): Promise<void> {
        for (const [kind, key, ms] of list) {
          lastAdd.set(key, order++)
          if (kind === 'addAfter') queue.addAfter(key, ms)
          else queue[kind](key)
          await simulation.clock.sleep(ms / 3)
        }
      }
    }),
    { numRuns: 60 },
  )
})

function start(
  options: Partial<WorkQueueOptions> = {},
  seed = 1,
): { queue: WorkQueue; simulation: Simulation } {
  const simulation = new Simulation({ seed })
  return { queue: new WorkQueue({ platform: simulation.host('host'), name: 'test', ...options }), simulation }
}
