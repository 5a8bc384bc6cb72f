import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from './simulated.ts'
import type { Log } from './platform.ts'
import { ThrottledLog } from './throttled-log.ts'

/** Fails once in each step; `run` resolves with the seconds of the lines, and what they left out. */
async function failing(options: {
  readonly stepMs: number
  readonly endMs: number
  readonly key?: (count: number) => string
}): Promise<readonly string[]> {
  const { stepMs, endMs, key = () => 'the same' } = options
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('server')
  const lines: string[] = []
  const startMs = clock.monotonicMs()
  const log: Log = {
    debug: assert.fail,
    info: assert.fail,
    error: assert.fail,
    with: () => log,
    warn: (message, fields = {}) => {
      assert.equal(message, 'It failed')
      const { suppressed = 0, error } = fields
      assert.equal(error, 'refused')
      lines.push(`${(clock.monotonicMs() - startMs) / 1_000}s+${String(suppressed)}`)
    },
  }
  const throttled = new ThrottledLog({ clock, log })
  const work = async (): Promise<void> => {
    for (let count = 0; count * stepMs < endMs; count++) {
      throttled.warn(key(count), 'It failed', { error: 'refused' })
      await clock.sleep(stepMs)
    }
  }
  await simulation.run(work())
  return lines
}

test('a repeated failure is logged at once, then with pauses growing to five minutes', async () => {
  const lines = await failing({ stepMs: 500, endMs: 1_000_000 })
  assert.deepEqual(lines, ['0s+0', '1s+1', '5s+7', '21s+31', '85s+127', '341s+511', '641s+599', '941s+599'])
})

test('a failure after a quiet period is logged at once again', async () => {
  assert.deepEqual(await failing({ stepMs: 301_000, endMs: 700_000 }), ['0s+0', '301s+0', '602s+0'])
})

test('each failure has its own pauses, for the latest thousand failures', async () => {
  const between = (keys: number): Promise<readonly string[]> =>
    failing({ stepMs: 0.1, endMs: 0.1 * (keys + 1), key: count => `failure ${count % keys}` })
  assert.equal((await between(1_000)).length, 1_000)
  assert.equal((await between(1_001)).length, 1_002)
})
