/** A short form of `npm run load -- containers`: pods that take all they can get do not harm the node or other pods. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runContainerStorm } from '../../tools/load/container-storm.ts'
import { containersMissing } from './test-containerd.ts'

/** The outcome of each guilty pod that the API shows to its owner. */
const expected: Readonly<Record<string, RegExp>> = {
  'fork-bomb': /^(Running|Failed), /,
  'memory-hog': /OOMKilled 137$/,
  'volume-hog': /^Failed, Evicted, Usage of EmptyDir volume "data" exceeds the limit "50Mi"/,
  'disk-hog':
    /^Failed, Evicted, Pod ephemeral local storage usage exceeds the total limit of containers 50Mi/,
  'log-flood': /^Running, 0 restarts$/,
  'exec-target': /^Running, 0 restarts$/,
}

test('pods that take all they can get at once', { skip: containersMissing }, async t => {
  const result = await runContainerStorm({ durationMs: 25_000, settleMs: 0 })
  await t.test('the API server and another client', () => {
    assert.ok(result.isAlive)
    assert.equal(result.refused, 0)
  })
  await t.test('DNS and Services of other pods', () => {
    assert.equal(result.failedRounds, 0)
    assert.ok(result.rounds > 0)
  })
  await t.test('execs beyond the limit of the pod get 429, and the others work', () => {
    assert.ok(result.execs > 0)
    assert.ok(result.refusedExecs > 0, `${result.execs} execs succeeded, ${result.failedExecs} failed`)
  })
  for (const [name, pattern] of Object.entries(expected)) {
    await t.test(`${name}: what its status says`, () => assert.match(result.outcomes[name] ?? '', pattern))
  }
})
