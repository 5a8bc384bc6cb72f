import assert from 'node:assert/strict'
import test from 'node:test'
import { Simulation, type SimulatedHost } from '../simulated.ts'

test('a stalled host notices timers, messages and disk operations when it resumes, in order', async () => {
  const { simulation, hosts } = start()
  const [stalled, other] = hosts
  const heard: string[] = []
  const hear = (what: string): void => void heard.push(`${what} at ${simulation.nowMs}`)
  const socket = await simulation.run(
    stalled.network.bindDatagram({ host: stalled.name, port: 1 }, () => hear('message')),
  )
  const sender = await simulation.run(other.network.bindDatagram({ host: other.name, port: 2 }, () => {}))
  await simulation.run(100)
  void stalled.files.write('/file', 'content').then(() => hear('written'))
  stalled.clock.setTimer(300, () => hear('late timer'))
  stalled.clock.setTimer(200, () => hear('early timer'))
  other.clock.setTimer(200, () => hear('timer of another host'))
  stalled.stall()
  sender.send(Buffer.from('x'), socket.address)
  await simulation.run(1_000)
  assert.deepEqual(heard, ['timer of another host at 300'])
  stalled.resume()
  await simulation.run(1_001)
  const late = heard.slice(1)
  assert.deepEqual(late.toSorted(), [
    'early timer at 1000',
    'late timer at 1000',
    'message at 1000',
    'written at 1000',
  ])
  assert.ok(late.indexOf('early timer at 1000') < late.indexOf('late timer at 1000'))
})

test('the clock of a stalled host goes on, and its processes stall too', async () => {
  const { simulation, hosts } = start()
  const [host] = hosts
  const woken: number[] = []
  simulation.program('sleeper', async ({ platform }) => {
    await platform.clock.sleep(50)
    woken.push(platform.clock.monotonicMs())
    return 0
  })
  await simulation.run(host.processes.start(['sleeper']))
  const before = host.clock.now()
  host.stall()
  await simulation.advance(500)
  assert.deepEqual([woken, host.clock.now() - before], [[], 500])
  host.resume()
  await simulation.advance(1)
  assert.deepEqual(woken, [500])
})

test('a host that crashes while it stalls forgets what it has not noticed', async () => {
  const { simulation, hosts } = start()
  const [host] = hosts
  let fired = 0
  host.clock.setTimer(10, () => fired++)
  host.stall()
  await simulation.advance(20)
  host.crash()
  await simulation.advance(20)
  host.restart()
  host.clock.setTimer(10, () => (fired += 10))
  await simulation.advance(20)
  assert.equal(fired, 10)
})

test('a host whose clock runs faster measures more time and fires its timers earlier', async () => {
  const { simulation, hosts } = start()
  const [host, other] = hosts
  await simulation.advance(1_000)
  host.setClockRate(1.25)
  const [wall, monotonic] = [host.clock.now(), host.clock.monotonicMs()]
  const fired: number[] = []
  host.clock.setTimer(500, () => fired.push(simulation.nowMs, host.clock.monotonicMs() - monotonic))
  await simulation.advance(1_000)
  assert.deepEqual(fired, [1_400, 500])
  assert.deepEqual([host.clock.now() - wall, host.clock.monotonicMs() - monotonic], [1_250, 1_250])
  assert.equal(host.clock.now() - other.clock.now(), 250)
})

function start(): { simulation: Simulation; hosts: readonly [SimulatedHost, SimulatedHost] } {
  const simulation = new Simulation({ seed: 1 })
  return { simulation, hosts: [simulation.host('a'), simulation.host('b')] }
}
