import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { SyncLoop } from './sync-loop.ts'

const backoff = { initialMs: 100, maxMs: 400, factor: 2, jitter: 0 }

/** Starts a loop whose syncs are controlled by the test; each adds a line `key@time` to the log. */
function start(sync: (key: string, turn: number) => Promise<number | undefined>) {
  const simulation = new Simulation({ seed: 1 })
  const { clock, log } = simulation.host('a')
  const lines: string[] = []
  const startMs = clock.monotonicMs()
  const turns = new Map<string, number>()
  const loop = new SyncLoop({
    platform: { clock, log: { ...log, warn: () => undefined } },
    failureMessage: 'failed',
    keyName: 'key',
    backoff,
    sync: key => {
      lines.push(`${key}@${clock.monotonicMs() - startMs}`)
      const turn = (turns.get(key) ?? 0) + 1
      turns.set(key, turn)
      return sync(key, turn)
    },
  })
  const stopping = new AbortController()
  const running = loop.run(stopping.signal)
  const sleep = (delayMs: number): Promise<void> => simulation.run(clock.sleep(delayMs))
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  return { loop, lines, sleep, stop }
}

test('a key is synced when it is added and when it is due', async () => {
  const { loop, lines, sleep, stop } = start(async (key, turn) =>
    key === 'a' && turn < 3 ? 1_000 : undefined,
  )
  loop.add('a')
  loop.add('b')
  await sleep(500)
  loop.add('b')
  await sleep(5_000)
  assert.deepEqual(lines, ['a@0', 'b@0', 'b@500', 'a@1000', 'a@2000'])
  loop.add('a')
  await sleep(100)
  assert.equal(lines.length, 6)
  await stop()
  loop.add('a')
  await sleep(100)
  assert.equal(lines.length, 6)
})

test('an added key is synced at once, and its pause starts again', async () => {
  const { loop, lines, sleep, stop } = start(async (_key, turn) => (turn < 3 ? 1_000 : undefined))
  loop.add('a')
  await sleep(900)
  loop.add('a')
  await sleep(5_000)
  assert.deepEqual(lines, ['a@0', 'a@900', 'a@1900'])
  await stop()
})

test('failures are retried after growing pauses, which a success resets', async () => {
  const { loop, lines, sleep, stop } = start(async (_key, turn) => {
    if (turn !== 5 && turn < 7) throw new Error('not yet')
    return turn === 5 ? 1_000 : undefined
  })
  loop.add('a')
  await sleep(10_000)
  assert.deepEqual(lines, ['a@0', 'a@100', 'a@300', 'a@700', 'a@1100', 'a@2100', 'a@2200'])
  await stop()
})

test('a slow key delays no other, and is never synced twice at a time', async () => {
  const { promise: slow, resolve } = Promise.withResolvers<undefined>()
  const { loop, lines, sleep, stop } = start((key, turn) =>
    key === 'a' && turn === 1 ? slow : Promise.resolve(undefined),
  )
  loop.add('a')
  loop.add('b')
  await sleep(100)
  loop.add('a')
  loop.add('a')
  loop.add('c')
  await sleep(100)
  assert.deepEqual(lines, ['a@0', 'b@0', 'c@100'])
  resolve(undefined)
  await sleep(100)
  assert.deepEqual(lines, ['a@0', 'b@0', 'c@100', 'a@200'])
  await stop()
})
