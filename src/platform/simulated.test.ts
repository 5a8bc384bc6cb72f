import assert from 'node:assert/strict'
import test from 'node:test'
import { Simulation } from './simulated.ts'

test('virtual time passes only while sleeping', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  const start = clock.now()
  assert.equal(new Date(start).toISOString(), '2026-01-01T00:00:00.000Z')
  await simulation.run(clock.sleep(5 * 60 * 1_000))
  assert.equal(clock.now() - start, 300_000)
  assert.equal(clock.monotonicMs(), 300_000)
  await simulation.advance(500)
  assert.equal(clock.now() - start, 300_500)
  await simulation.run(400_000)
  assert.equal(simulation.nowMs, 400_000)
})

test('all consequences of a virtual timer run before the next fires', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  const order: string[] = []
  clock.setTimer(1, () => {
    order.push('first')
    const follow = async (): Promise<void> => {
      for (let step = 0; step < 10; step++) await Promise.resolve()
      order.push('follows')
    }
    void follow()
  })
  clock.setTimer(1, () => void order.push('second'))
  await simulation.run(2)
  assert.deepEqual(order, ['first', 'follows', 'second'])
})

test('a simulated turn takes no time and runs after everything that is due', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  const order: string[] = []
  clock.setTimer(0, () => void order.push('timer'))
  await simulation.run(clock.turn().then(() => order.push('turn')))
  assert.deepEqual([order, simulation.nowMs], [['timer', 'turn'], 0])
})

test('a simulated sleep can be aborted, and a cancelled timer does not fire', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  const reason = new Error('enough')
  await assert.rejects(clock.sleep(1, AbortSignal.abort(reason)), reason)
  const controller = new AbortController()
  const sleep = assert.rejects(clock.sleep(1_000, controller.signal), reason)
  clock.setTimer(10, () => controller.abort(reason))
  clock.setTimer(20, () => assert.fail('fired')).cancel()
  await simulation.run(sleep)
  assert.equal(await simulation.settle(), true)
  assert.equal(simulation.nowMs, 10)
})

test('run rejects with the error of a callback, and the simulation can continue', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  clock.setTimer(1, () => {
    throw new Error('broken callback')
  })
  const sleeping = clock.sleep(5)
  await assert.rejects(simulation.run(10), /broken callback/)
  await simulation.run(sleeping)
  assert.equal(simulation.nowMs, 5)
})

test('run resolves or rejects as its promise', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  assert.equal(await simulation.run(clock.sleep(1).then(() => 'value')), 'value')
  const refused = clock.sleep(1).then(() => Promise.reject(new Error('refused')))
  await assert.rejects(simulation.run(refused), /refused/)
})

test('run detects a deadlock: a pending promise without a timer', async () => {
  const simulation = new Simulation({ seed: 1 })
  await assert.rejects(simulation.run(new Promise<void>(() => {})), /deadlock: the promise is pending/)
})

test('concurrent calls of run are rejected', async () => {
  const simulation = new Simulation({ seed: 1 })
  const running = simulation.run(simulation.clock.sleep(10))
  await assert.rejects(simulation.run(5), /running already/)
  await running
})

test('settle runs until nothing is pending, and fails without an end', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  clock.setTimer(1, () => void clock.setTimer(1, () => {}))
  assert.equal(await simulation.settle(), true)
  assert.equal(simulation.nowMs, 2)
  const tick = (): void => void clock.setTimer(1_000, tick)
  tick()
  assert.equal(await simulation.settle(10_000), false)
  assert(simulation.nowMs <= 10_002)
})

test('a crashed host has no timer, file operation, message or log, and its signal is aborted', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  const { signal } = host
  const did: string[] = []
  const act = async (what: string): Promise<void> => {
    host.log.info('alive')
    await host.files.write('/x', 'y')
    did.push(what)
  }
  host.clock.setTimer(10, () => void act('timer'))
  signal.addEventListener('abort', () => void act('signal'))
  await host.network.bindDatagram({ host: 'a', port: 1 }, () => void act('message'))
  simulation.clock.setTimer(5, () => host.crash())
  await simulation.run(20)
  assert.deepEqual([did, signal.aborted, host.up], [[], true, false])
  assert(!simulation.trace.some(line => line.includes('alive')))
  host.restart()
  assert.deepEqual([host.signal.aborted, host.up], [false, true])
  await host.network.bindDatagram({ host: 'a', port: 1 }, () => {})
  await simulation.run(act('new life'))
  assert.deepEqual(did, ['new life'])
})

test('a host can be restarted only after its crash has completed', async () => {
  const host = new Simulation({ seed: 1 }).host('a')
  assert.throws(() => host.restart(), /up already/)
  host.crash()
  assert.throws(() => host.crash(), /down already/)
  assert.throws(() => host.restart(), /sleep first/)
})

test('wall clocks jump without the timers noticing; monotonic time starts with each life', async () => {
  const simulation = new Simulation({ seed: 1 })
  const [a, b] = [simulation.host('a'), simulation.host('b')]
  a.jumpClock(-3_600_000)
  assert.equal(a.clock.now() - b.clock.now(), -3_600_000)
  await simulation.run(a.clock.sleep(10))
  assert.deepEqual([simulation.nowMs, a.clock.monotonicMs()], [10, 10])
  a.crash()
  await simulation.advance(10)
  await simulation.run(simulation.clock.sleep(10))
  a.restart()
  assert.deepEqual([a.clock.monotonicMs(), b.clock.monotonicMs()], [0, 30])
  assert.equal(a.clock.now() - b.clock.now(), -3_600_000)
})

test('a host has one name and one address, and draws its own numbers, also after a crash', async () => {
  const simulation = new Simulation({ seed: 1 })
  const [a, b] = [simulation.host('a'), simulation.host('b')]
  assert.equal(simulation.host('a'), a)
  assert.notEqual(a.address, b.address)
  assert.notEqual(a.random.uuid('pod'), b.random.uuid('pod'))
  const before = a.random.uuid('pod')
  a.crash()
  await simulation.run(simulation.clock.sleep(1))
  a.restart()
  assert.notEqual(a.random.uuid('pod'), before)
  for (const name of ['', 'A', 'a b', '-a', 'a/b']) {
    assert.throws(() => simulation.host(name), /not a host name/)
  }
})

test('log lines and records are in the trace with their time, and errors without their stack', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock, log } = simulation.host('a')
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  await simulation.run(clock.sleep(1.5))
  log.with({ pod: 'web' }).info('started', { size: 2n, error: new Error('why') })
  log.error('odd', { cycle })
  simulation.record('note')
  assert.deepEqual(simulation.trace, [
    '1.500 a: timer',
    '1.500 a: info started pod="web" size="2" error="Error: why"',
    '1.500 a: error odd cycle=(not shown)',
    '1.500 script: note',
  ])
})

test('the same seed gives the same trace, another seed another', async () => {
  const hash = async (seed: number | bigint): Promise<string> => {
    const simulation = new Simulation({ seed, network: { dropRate: 0.5 } })
    const [a, b] = [simulation.host('a'), simulation.host('b')]
    await b.network.bindDatagram({ host: 'b', port: 1 }, () => {})
    const socket = await a.network.bindDatagram({ host: 'a', port: 1 }, () => {})
    for (let message = 0; message < 50; message++) socket.send(new Uint8Array(1), { host: 'b', port: 1 })
    await simulation.settle()
    return simulation.traceHash()
  }
  assert.equal(await hash(1), await hash(1n))
  assert.notEqual(await hash(1), await hash(2))
})
