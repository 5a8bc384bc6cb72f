import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventLoopBlock } from '../process-usage.ts'
import { EventLoopWatchdog, eventLoopBlocks } from './event-loop-watchdog.ts'
import { turn } from './turn.ts'

/** Blocks the event loop longer than is tolerated, and than a busy machine interrupts the lines around it. */
function block(): void {
  const startMs = performance.now()
  while (performance.now() - startMs < 300) continue
}

/** The watchdog alone does not keep the process running. */
async function kept<T>(promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 1_000)
  try {
    return await promise
  } finally {
    clearInterval(timer)
  }
}

/** As if the thread had a CPU all the time, which a busy machine does not grant. */
const hasCpu = (): number => performance.now()

function nextBlock(cpuMs = hasCpu) {
  const { promise, resolve } = Promise.withResolvers<EventLoopBlock>()
  return { promise, watchdog: new EventLoopWatchdog(resolve, cpuMs) }
}

test('a block is reported with the longest work of the turn', async () => {
  const { promise, watchdog } = nextBlock()
  watchdog.begin('request', '/short')
  watchdog.begin('request', '/long')
  block()
  watchdog.begin('request', '/also-short')
  const { cause, detail, durationMs } = await kept(promise)
  assert.deepEqual([cause, detail], ['request', '/long'])
  assert.ok(durationMs >= 50)
  assert.ok(
    eventLoopBlocks().some(each => each.cause === 'request' && each.count > 0 && each.longestMs >= 50),
  )
})

test('a block by work without a name is found while the process is busy', async () => {
  const { promise, watchdog } = nextBlock()
  watchdog.begin('request', '/list')
  const startMs = performance.now()
  while (performance.now() - startMs < 10) continue
  await turn()
  await turn()
  block()
  block()
  const { cause, detail } = await kept(promise)
  assert.deepEqual([cause, detail], ['other', 'after request /list'])
})

test('time without a CPU is told apart', async () => {
  const { promise, watchdog } = nextBlock(() => 0)
  watchdog.begin('request', '/wait')
  block()
  const { cause, detail } = await kept(promise)
  assert.deepEqual([cause, detail], ['not running', '/wait'])
})
