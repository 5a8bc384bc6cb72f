import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import { renewCertificates } from './renew-certificates.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** A certificate that is valid for three days and renewed a day before its end. */
interface Certificate {
  readonly expiresMs: number
}

function startRenewal(t: TestContext) {
  const simulation = new Simulation({ seed: 1 })
  const host: SimulatedHost = simulation.host('node')
  const stopping = new AbortController()
  const failures: Error[] = []
  const refusals: Error[] = []
  const renewed: Certificate[] = []
  const issue = (): Certificate => ({ expiresMs: host.clock.now() + 3 * dayMs })
  let stored = issue()
  const running = renewCertificates<Certificate>(
    {
      platform: host,
      current: stored,
      ensure: async () => {
        const failure = failures.shift()
        if (failure) throw failure
        if (stored.expiresMs - host.clock.now() < dayMs) stored = issue()
        return stored
      },
      onRenewed: next => {
        const refusal = refusals.shift()
        if (refusal) throw refusal
        renewed.push(next)
      },
    },
    stopping.signal,
  )
  t.after(async () => {
    stopping.abort()
    await simulation.run(running)
  })
  const isValid = (): boolean => (renewed.at(-1)?.expiresMs ?? 0) > host.clock.now()
  return { simulation, host, renewed, failures, refusals, isValid }
}

test('certificates are renewed before they expire while the cluster runs', async t => {
  const { simulation, renewed, isValid } = startRenewal(t)
  await simulation.advance(1.9 * dayMs)
  assert.equal(renewed.length, 0)
  await simulation.advance(dayMs)
  assert.equal(renewed.length, 1)
  assert.ok(isValid())
})

test('certificates that a jump of the clock has made invalid are renewed within seconds', async t => {
  const { simulation, host, renewed, isValid } = startRenewal(t)
  await simulation.advance(hourMs)
  host.jumpClock(4 * dayMs)
  await simulation.advance(15_000)
  assert.equal(renewed.length, 1)
  assert.ok(isValid())
  host.jumpClock(dayMs)
  await simulation.advance(hourMs)
  assert.equal(renewed.length, 1, 'still valid')
})

test('a correction of the clock does not cause a check', async t => {
  const { simulation, host, failures } = startRenewal(t)
  failures.push(new Error('a check'))
  host.jumpClock(500)
  await simulation.advance(hourMs)
  host.jumpClock(-500)
  await simulation.advance(hourMs)
  assert.equal(failures.length, 1)
})

test('a renewal that fails is retried soon', async t => {
  const { simulation, host, renewed, failures, refusals, isValid } = startRenewal(t)
  failures.push(new Error('the disk is full'))
  refusals.push(new Error('not now'))
  host.jumpClock(4 * dayMs)
  await simulation.advance(15_000)
  assert.equal(renewed.length, 0)
  await simulation.advance(5 * 60_000)
  assert.equal(renewed.length, 1)
  assert.ok(isValid())
})
