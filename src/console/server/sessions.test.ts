import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { Sessions } from './sessions.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Runs the body in virtual time. */
async function withSessions(
  body: (sessions: Sessions, sleep: (delayMs: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('a')
  await simulation.run(body(new Sessions(platform), delayMs => platform.clock.sleep(delayMs)))
}

test('the token of a link begins one session, within ten minutes', () =>
  withSessions(async (sessions, sleep) => {
    const [link, late] = [sessions.issueLinkToken(), sessions.issueLinkToken()]
    const token = sessions.redeem(link)
    assert.ok(token !== undefined && sessions.find(token) !== undefined)
    assert.equal(sessions.redeem(link), undefined, 'a link works once')
    assert.equal(sessions.find(link), undefined, 'the token of a link is no session')
    assert.equal(sessions.redeem(token), undefined)
    await sleep(10 * minuteMs)
    assert.equal(sessions.redeem(late), undefined)
  }))

test('a session ends when it is not used for twelve hours, and when it is signed out', () =>
  withSessions(async (sessions, sleep) => {
    const [used, unused, out] = Array.from({ length: 3 }, () => sessions.redeem(sessions.issueLinkToken())!)
    const signals = [used, unused, out].map(token => sessions.find(token!)!.signal)
    sessions.end(out!)
    assert.equal(sessions.find(out!), undefined)
    await sleep(11 * hourMs)
    assert.ok(sessions.find(used!))
    await sleep(2 * hourMs)
    assert.ok(sessions.find(used!))
    assert.equal(sessions.find(unused!), undefined)
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, true, true],
      'what is streamed to a session ends with it',
    )
  }))

test('the numbers of links and sessions are bounded: the least recent ones end', () =>
  withSessions(async (sessions, sleep) => {
    const open = (): string => sessions.redeem(sessions.issueLinkToken())!
    const tokens: string[] = []
    for (let index = 0; index < 32; index++) {
      tokens.push(open())
      await sleep(1)
    }
    assert.ok(sessions.find(tokens[0]!))
    tokens.push(open())
    assert.equal(sessions.find(tokens[1]!), undefined)
    assert.equal(tokens.filter(token => sessions.find(token)).length, 32)
    const links = Array.from({ length: 33 }, () => sessions.issueLinkToken())
    assert.equal(sessions.redeem(links[0]!), undefined)
    assert.ok(sessions.redeem(links[1]!))
  }))

test('attempts to redeem a link are limited', () =>
  withSessions(async (sessions, sleep) => {
    const admitted = (): number =>
      Array.from({ length: 50 }, () => sessions.admitAttempt()).filter(Boolean).length
    assert.equal(admitted(), 20)
    await sleep(3_000)
    assert.equal(admitted(), 3)
  }))

test('the link key issues links and is no session', () =>
  withSessions(async sessions => {
    assert.equal(sessions.mayIssueLinks(sessions.linkKey), true)
    assert.equal(sessions.find(sessions.linkKey), undefined)
    assert.equal(sessions.redeem(sessions.linkKey), undefined)
    assert.equal(sessions.mayIssueLinks(sessions.redeem(sessions.issueLinkToken())!), true)
    for (const other of ['', 'x', sessions.issueLinkToken()])
      assert.equal(sessions.mayIssueLinks(other), false)
  }))
