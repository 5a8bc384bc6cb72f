import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls by commands on hosts, with pauses, since each of them takes the time of a processor that the hosts need. The
 * deadline only makes a failure readable.
 */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax
  while (!(await condition())) {
    assert.ok(performance.now() < deadlineMs, `condition not met: ${condition.toString()}`)
    await sleep(pauseMs)
  }
}

const pauseMs = 500
const waitMsMax = 180_000
