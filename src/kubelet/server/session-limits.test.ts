import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SessionLimits } from './session-limits.ts'

function enterMany(limits: SessionLimits, pod: string, count: number): readonly Disposable[] {
  return Array.from({ length: count }, () => limits.enter(pod)).filter(session => session !== undefined)
}

test('sessions are bounded per pod', () => {
  const limits = new SessionLimits()
  const [first] = enterMany(limits, 'a', 40)
  assert.equal(limits.enter('a'), undefined)
  assert.notEqual(limits.enter('b'), undefined)
  first![Symbol.dispose]()
  assert.notEqual(limits.enter('a'), undefined)
  assert.equal(limits.enter('a'), undefined)
})

test('sessions are bounded per node', () => {
  const limits = new SessionLimits()
  const sessions = Array.from({ length: 20 }, (_, pod) => enterMany(limits, `pod-${pod}`, 20)).flat()
  assert.equal(sessions.length, 256)
  for (const session of sessions) session[Symbol.dispose]()
  assert.equal(enterMany(limits, 'a', 40).length, 32)
})
