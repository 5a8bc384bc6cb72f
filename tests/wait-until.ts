/** Waits for a condition instead of for a time. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Polls until the condition holds. The deadline only makes a failure readable. */
export async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax
  while (!(await condition())) {
    assert.ok(performance.now() < deadlineMs, `condition not met: ${condition.toString()}`)
    await sleep(pollMs)
  }
}

/** Polls until the value has stopped changing, for a sender that has to wait for its reader. */
export async function waitUntilStable(measure: () => number): Promise<void> {
  let equal = 0
  for (let last = measure(); equal < equalPolls;) {
    await sleep(pollMs)
    const value = measure()
    equal = value === last ? equal + 1 : 0
    last = value
  }
}

const pollMs = 10
const equalPolls = 10
const waitMsMax = 60_000
