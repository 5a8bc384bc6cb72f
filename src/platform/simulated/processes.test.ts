import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import test from 'node:test'
import { Simulation, type Program } from '../simulated.ts'

const forever: Program = async ({ platform }) => {
  for (;;) await platform.clock.sleep(1_000)
}

test('a simulated program gets its command and streams and returns its exit code', async () => {
  const { simulation, host } = start('cat', async process => {
    const { parameters, environment, folder, stdin, stdout, stderr } = process
    stdout.write(`${parameters.join(',')} ${environment['A']} ${folder} `)
    stdout.end(await text(stdin))
    stderr.end('done')
    return 3
  })
  const outcome = simulation.run(
    (async () => {
      const options = { environment: { A: 'b' }, folder: '/tmp' }
      const process = await host.processes.start(['/usr/bin/cat', '-n', 'x'], options)
      process.stdin.end('input')
      return Promise.all([text(process.stdout), text(process.stderr), process.exited])
    })(),
  )
  assert.deepEqual(await outcome, ['-n,x b /tmp input', 'done', { code: 3 }])
})

test('a program that is not registered cannot be started', async () => {
  const { simulation, host } = start('cat', forever)
  for (const command of [['dog'], ['__proto__'], []]) {
    await assert.rejects(simulation.run(host.processes.start(command)), { code: 'ENOENT' })
  }
})

test('signals end a simulated process unless handled, SIGKILL always', async () => {
  const { simulation, host } = start('sleep', forever)
  simulation.program('polite', async ({ onSignal }) => {
    const { promise, resolve } = Promise.withResolvers<number>()
    onSignal(name => (name === 'SIGTERM' ? resolve(0) : undefined))
    return promise
  })
  const exit = async (name: string, ...signals: ('SIGTERM' | 'SIGHUP' | 'SIGKILL')[]): Promise<unknown> => {
    const process = await simulation.run(host.processes.start([name]))
    for (const signal of signals) process.kill(signal)
    return simulation.run(process.exited)
  }
  assert.deepEqual(await exit('sleep', 'SIGTERM'), { signal: 'SIGTERM' })
  assert.deepEqual(await exit('polite', 'SIGHUP', 'SIGTERM'), { code: 0 })
  assert.deepEqual(await exit('polite', 'SIGHUP', 'SIGKILL'), { signal: 'SIGKILL' })
})

test('a killed simulated process does nothing more, and its ports are free', async () => {
  const did: string[] = []
  const { simulation, host } = start('server', async ({ platform, signal }) => {
    await platform.network.listen({ host: 'localhost', port: 80 }, () => {})
    signal.addEventListener('abort', () => {
      void platform.files.write('/last-words', 'x').then(() => did.push('wrote'))
      void platform.clock.sleep(0).then(() => did.push('slept'))
      platform.log.info('still here')
    })
    return forever({ platform } as Parameters<Program>[0])
  })
  const process = await simulation.run(host.processes.start(['server']))
  await simulation.advance(1)
  await assert.rejects(
    host.network.listen({ host: 'localhost', port: 80 }, () => {}),
    { code: 'EADDRINUSE' },
  )
  process.kill('SIGKILL')
  assert.equal(await simulation.settle(), true)
  await host.network.listen({ host: 'localhost', port: 80 }, () => {})
  assert.deepEqual([did, await simulation.run(host.files.list('/'))], [[], []])
  assert(!simulation.trace.some(line => line.includes('still here')))
})

test('a stopped simulated process does nothing until SIGCONT', async () => {
  const ticks: number[] = []
  const { simulation, host } = start('tick', async ({ platform }) => {
    for (let tick = 0; tick < 4; tick++) {
      await platform.clock.sleep(10)
      ticks.push(simulation.nowMs)
    }
    return 0
  })
  const process = await simulation.run(host.processes.start(['tick']))
  await simulation.run(15)
  process.kill('SIGSTOP')
  process.kill('SIGHUP')
  await simulation.run(100)
  assert.equal(ticks.length, 1)
  process.kill('SIGCONT')
  assert.deepEqual(await simulation.run(process.exited), { signal: 'SIGHUP' })
})

test('aborting the signal kills a simulated process, before or after its start', async () => {
  const { simulation, host } = start('sleep', forever)
  const controller = new AbortController()
  const process = await simulation.run(host.processes.start(['sleep'], { signal: controller.signal }))
  controller.abort()
  assert.deepEqual(await simulation.run(process.exited), { signal: 'SIGKILL' })
  const reason = new Error('no')
  const aborted = AbortSignal.abort(reason)
  await assert.rejects(simulation.run(host.processes.start(['sleep'], { signal: aborted })), reason)
})

test('a crash ends the simulated processes of its host only', async () => {
  const alive: string[] = []
  const { simulation, host } = start('tick', async ({ parameters, platform }) => {
    for (;;) {
      await platform.clock.sleep(10)
      alive.push(parameters[0] ?? '')
    }
  })
  await simulation.run(host.processes.start(['tick', 'here']))
  await simulation.run(simulation.host('b').processes.start(['tick', 'there']))
  await simulation.advance(50)
  host.crash()
  alive.length = 0
  await simulation.advance(50)
  assert.deepEqual(new Set(alive), new Set(['there']))
})

test('run rejects with the error of a simulated program', async () => {
  const { simulation, host } = start('bad', async () => {
    throw new Error('program is wrong')
  })
  void host.processes.start(['bad'])
  await assert.rejects(simulation.settle(), /program is wrong/)
})

function start(name: string, program: Program) {
  const simulation = new Simulation({ seed: 1 })
  simulation.program(name, program)
  return { simulation, host: simulation.host('a') }
}
