import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { describeCrash, planRestart, recordStartFailure, recoverFromCrash } from './crash-recovery.ts'
import { readLockHolder } from './lock-folder.ts'

const minute = 60_000

test('the first restart is immediate, the next ones are delayed by 10 s to 5 min', () => {
  const delays: number[] = []
  let crash = planRestart(undefined, 0)
  for (let count = 1; count <= 8; count++) {
    delays.push(crash.delayMs / 1_000)
    assert.equal(crash.restarts, count)
    crash = planRestart(crash, crash.crashedMs + crash.delayMs + 9 * minute)
  }
  assert.deepEqual(delays, [0, 10, 20, 40, 80, 160, 300, 300])
})

test('after ten minutes without a crash the back-off starts again', () => {
  const repeated = { crashedMs: 0, restarts: 7, consecutive: 7, delayMs: 5 * minute }
  const check = (ranMs: number, delayMs: number): void => {
    const { restarts, delayMs: planned } = planRestart(repeated, repeated.delayMs + ranMs)
    assert.deepEqual([restarts, planned], [8, delayMs])
  }
  check(10 * minute - 1, 5 * minute)
  check(10 * minute, 0)
  // The clock was set back.
  check(-100 * minute, 5 * minute)
})

test('the reason of a crash is that which the process itself has left, or its exit', () => {
  const pid = 7
  const heap = { header: { event: 'Allocation failed - JavaScript heap out of memory', processId: pid } }
  const exception = {
    header: { event: 'Exception', processId: pid },
    javascriptStack: { message: 'TypeError: x is not a function' },
  }
  const check = (crash: Parameters<typeof describeCrash>, reason: string): void => {
    assert.equal(describeCrash(...crash), reason)
  }
  const abort = { pid, exit: { signal: 'SIGABRT' } }
  const code = { pid, exit: { code: 70 } }
  check([abort, { report: heap }], 'Allocation failed - JavaScript heap out of memory (SIGABRT)')
  check([code, { report: exception }], 'uncaught exception: TypeError: x is not a function')
  check([code, { startFailure: 'port in use' }], 'the cluster could not start: port in use')
  check([code, {}], 'exit code 70')
  check([{ pid, exit: { signal: 'SIGSEGV' } }, {}], 'SIGSEGV')
  const ofAnotherProcess = { header: { ...heap.header, processId: 6 } }
  check([{ pid, exit: { signal: 'SIGSEGV' } }, { report: ofAnotherProcess }], 'SIGSEGV')
})

test('a process that crashed again waits with the lock, and knows why the one before could not start', async () => {
  const { simulation, platform } = start()
  const folder = '/cluster'
  const recover = (supervisorPid: number, signal = new AbortController().signal) => {
    const crashed = { pid: 7, exit: { code: 70 } }
    const program = { version: '0.1.0' }
    const options = {
      platform,
      folder,
      reportPath: '/cluster/report',
      pid: 8,
      supervisorPid,
      crashed,
      program,
    }
    return recoverFromCrash(options, signal)
  }
  const first = await simulation.run(recover(1))
  assert.deepEqual([first.restarts, first.reason], [1, 'exit code 70'])
  await simulation.run(recordStartFailure(platform, folder, new Error('port in use')))
  // The process was killed while Node wrote the report.
  await simulation.run(platform.files.write('/cluster/report', '{"header": {'))

  const waiting = recover(1)
  await simulation.advance(1_000)
  const holder = await simulation.run(readLockHolder(platform, folder))
  const reason = 'the cluster could not start: port in use'
  const { pid, supervisorPid, isReady, crash, backOffUntilMs = 0 } = holder!
  assert.deepEqual([pid, supervisorPid, isReady, crash?.restarts, crash?.reason], [8, 1, false, 2, reason])
  assert.equal(backOffUntilMs - crash!.crashedMs, 10_000)
  assert.equal((await simulation.run(waiting)).reason, reason)
  assert.equal(await simulation.run(readLockHolder(platform, folder)), undefined)

  const stopping = new AbortController()
  const aborted = assert.rejects(recover(1, stopping.signal), /stopping/)
  await simulation.advance(1_000)
  stopping.abort(new Error('stopping'))
  await simulation.run(aborted)
  const ofNewSupervisor = await simulation.run(recover(2))
  assert.equal(ofNewSupervisor.restarts, 1)
})

function start() {
  const simulation = new Simulation({ seed: 1 })
  const { clock, random, network, files, processes, log } = simulation.host('a')
  return { simulation, platform: { clock, random, network, files, processes, log } }
}
