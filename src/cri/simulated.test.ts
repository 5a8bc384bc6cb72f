import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { CriError, type ContainerConfig } from './cri.ts'
import { SimulatedRuntime, type SimulatedRuntimeOptions } from './simulated.ts'
import { containerConfig, sandboxConfig } from './test-configs.ts'

class World {
  readonly simulation = new Simulation({ seed: 1 })
  readonly platform = this.simulation.host('node')
  readonly runtime: SimulatedRuntime
  #pods = 0

  constructor(options: Partial<SimulatedRuntimeOptions> = {}) {
    const images = { it: { isPresent: true }, ...options.images }
    this.runtime = new SimulatedRuntime({
      platform: this.platform,
      podCidrs: ['10.244.0.0/16'],
      ...options,
      images,
    })
  }

  do<T>(promise: Promise<T>): Promise<T> {
    return this.simulation.run(promise)
  }

  async start(name: string, more: Partial<ContainerConfig> = {}, annotations = {}): Promise<string> {
    const sandbox = sandboxConfig(`u${this.#pods++}`, { annotations })
    const sandboxId = await this.do(this.runtime.runPodSandbox(sandbox))
    const config = containerConfig(name, more)
    const id = await this.do(this.runtime.createContainer({ sandboxId, sandbox, config }))
    await this.do(this.runtime.startContainer(id))
    return id
  }

  /** Container status in one line. */
  async stand(id: string): Promise<string> {
    const { state, exitCode, reason, startedAt, finishedAt } = await this.do(this.runtime.containerStatus(id))
    return state === 'exited' ? `${exitCode} ${reason} after ${(finishedAt - startedAt) / 1_000_000n}` : state
  }

  async log(path: string): Promise<string> {
    const text = Buffer.from(await this.do(this.platform.files.read(path))).toString()
    return text.replaceAll(/^\S+ /gm, '')
  }
}

test('simulated containers run their command, script or pod annotation', async () => {
  const world = new World({
    containers: {
      scripted: { exitAfterMs: 2_000, exitCode: 4 },
      greedy: { exitAfterMs: 1_000, isOutOfMemory: true },
      flaky: [{ exitCode: 1, exitAfterMs: 10 }, { exitAfterMs: 20 }],
    },
    images: { crash: { isPresent: true, container: { exitCode: 9, exitAfterMs: 1 } } },
  })
  const ids = [
    await world.start('plain'),
    await world.start('plain', { command: ['sh', '-c'], args: ['sleep 3; exit 7'] }),
    await world.start('scripted', { command: ['sleep', 'infinity'] }),
    await world.start('greedy'),
    await world.start('flaky'),
    await world.start('flaky', { attempt: 1 }),
    await world.start('flaky', { attempt: 7 }),
    await world.start('plain', { image: 'crash', userImage: 'crash' }),
    await world.start(
      'plain',
      {},
      { 'simulated.k8ts.io/exit-code': '5', 'simulated.k8ts.io/exit-after': '4s' },
    ),
  ]
  await world.simulation.advance(10_000)
  const stands = []
  for (const id of ids) stands.push(await world.stand(id))
  assert.deepEqual(stands, [
    'running',
    '7 Error after 3000',
    '4 Error after 2000',
    '137 OOMKilled after 1000',
    '1 Error after 10',
    '0 Completed after 20',
    '0 Completed after 20',
    '9 Error after 1',
    '5 Error after 4000',
  ])
  assert.ok(await world.simulation.settle(0), 'no timer is pending when nothing is to happen')
})

test('a simulated container exits on SIGTERM or is killed', async () => {
  const world = new World({
    containers: { deaf: { stopMs: Infinity }, slow: { stopMs: 2_000, stopExitCode: 0 } },
  })
  const cases: readonly [name: string, graceSeconds: number, expected: string][] = [
    ['quick', 30, '143 Error after 0'],
    ['quick', 0, '137 Error after 0'],
    ['deaf', 3, '137 Error after 3000'],
    ['slow', 30, '0 Completed after 2000'],
    ['slow', 1, '137 Error after 1000'],
  ]
  for (const [name, graceSeconds, expected] of cases) {
    const id = await world.start(name)
    await world.do(world.runtime.stopContainer(id, graceSeconds))
    assert.equal(await world.stand(id), expected, name)
    await world.do(world.runtime.stopContainer(id, graceSeconds))
  }
  const id = await world.start('deaf')
  const patient = world.runtime.stopContainer(id, 600)
  const hasty = world.runtime.stopContainer(id, 1)
  await world.do(Promise.all([patient, hasty]))
  assert.equal(await world.stand(id), '137 Error after 1000', 'whoever waits least decides')
})

test('simulated containers write CRI logs and continue in a reopened file', async () => {
  const logs = [
    { text: 'one' },
    { text: 'two', stream: 'stderr' as const, afterMs: 1_000 },
    { text: 'x'.repeat(20_000), afterMs: 1_000 },
  ]
  const world = new World({ containers: { talker: { logs, exitAfterMs: 5_000 } } })
  const id = await world.start('talker')
  const { logPath } = await world.do(world.runtime.containerStatus(id))
  await world.simulation.advance(1_500)
  assert.equal(await world.log(logPath), 'stdout F one\nstderr F two\n')
  await world.do(world.platform.files.rename(logPath, `${logPath}.1`))
  await world.do(world.runtime.reopenContainerLog(id))
  await world.simulation.advance(10_000)
  const rest = 'x'.repeat(20_000 - 16_384)
  assert.equal(await world.log(logPath), `stdout P ${'x'.repeat(16_384)}\nstdout F ${rest}\n`)
  assert.equal(await world.log(`${logPath}.1`), 'stdout F one\nstderr F two\n')
  const shell = await world.start('shell', { command: ['sh', '-c', 'echo "hello you"; echo no >&2; exit 1'] })
  await world.simulation.advance(1_000)
  const status = await world.do(world.runtime.containerStatus(shell))
  assert.equal(await world.log(status.logPath), 'stdout F hello you\nstderr F no\n')
})

test('a simulated container can write a file mounted from the node', async () => {
  const world = new World()
  const mount = {
    readonly: false,
    recursiveReadonly: false,
    propagation: 'private',
    selinuxRelabel: false,
  } as const
  await world.do(world.platform.files.makeFolder('/pods'))
  await world.start('it', {
    command: ['sh', '-c', 'echo -n bye > /dev/termination-log; echo lost > /elsewhere'],
    mounts: [{ ...mount, hostPath: '/pods/message', containerPath: '/dev/termination-log' }],
  })
  await world.simulation.advance(1_000)
  assert.equal(Buffer.from(await world.do(world.platform.files.read('/pods/message'))).toString(), 'bye')
})

test('simulated exec commands succeed, time out or fail to start', async () => {
  const execs = {
    'check me': { stdout: 'fine', stderr: 'hm', exitCode: 3 },
    'slow': { afterMs: 5_000 },
    'none': { error: 'exec: "none": executable file not found in $PATH' },
  }
  const world = new World({ containers: { it: { execs } } })
  const id = await world.start('it')
  const run = async (command: string, timeoutMs: number): Promise<string> => {
    try {
      const result = await world.do(
        world.runtime.execSync({ containerId: id, command: command.split(' '), timeoutMs }),
      )
      const { stdout, stderr, exitCode } = result
      return `${exitCode} ${Buffer.from(stdout).toString()}|${Buffer.from(stderr).toString()}`
    } catch (error) {
      assert.ok(error instanceof CriError)
      return error.reason
    }
  }
  assert.equal(await run('check me', 1_000), '3 fine|hm')
  assert.equal(await run('echo hi', 1_000), '0 hi\n|')
  assert.equal(await run('false', 1_000), '1 |')
  assert.equal(await run('whatever', 1_000), '0 |')
  assert.equal(await run('slow', 1_000), 'timeout')
  assert.equal(await run('slow', 6_000), '0 |')
  assert.equal(await run('none', 1_000), 'failed')
  world.runtime.setScript('it', { execs: { '*': { exitCode: 8 } } })
  assert.equal(await run('check me', 1_000), '8 |', 'what is said later counts')
  await world.do(world.runtime.stopContainer(id, 1))
  assert.equal(await run('true', 1_000), 'failed')
  assert.ok(await world.simulation.settle(0))
})

test('simulated exec streams have backpressure in both directions', async () => {
  const world = new World()
  const id = await world.start('it', { command: ['cat'], stdin: true })
  const streams = { stdin: true, stdout: true, stderr: true, tty: false }
  const process = await world.do(world.runtime.exec({ containerId: id, command: ['cat'], ...streams }))
  const chunk = new Uint8Array(40_000)
  await world.do(process.writeStdin(chunk))
  let isWritten = false
  const blocked = process.writeStdin(chunk).then(() => (isWritten = true))
  await world.simulation.advance(1_000)
  assert.equal(isWritten, false, 'nobody reads')
  const reading = Array.fromAsync(process.stdout)
  await world.do(blocked)
  process.endStdin()
  assert.equal(Buffer.concat(await world.do(reading)).length, 80_000)
  assert.deepEqual(await world.do(process.result), { type: 'exited', code: 0 })
  const attached = await world.do(world.runtime.attach(id, streams))
  await world.do(attached.writeStdin(Buffer.from('hello\n')))
  attached.endStdin()
  assert.equal(Buffer.concat(await world.do(Array.fromAsync(attached.stdout))).toString(), 'hello\n')
  assert.deepEqual(await world.do(attached.result), { type: 'exited', code: 0 })
  const { logPath } = await world.do(world.runtime.containerStatus(id))
  assert.equal(await world.log(logPath), 'stdout F hello\n')
})

test('simulated ports accept connections while their container runs', async () => {
  const world = new World({ containers: { it: { ports: { 80: 'echo', 81: { answer: 'hi' } } } } })
  const id = await world.start('it')
  const [{ id: sandboxId } = { id: '' }] = await world.do(world.runtime.listPodSandbox())
  const ask = async (port: number, text: string): Promise<string> => {
    const connection = await world.runtime.portForward(sandboxId, port)
    connection.end(text)
    return Buffer.concat(await Array.fromAsync(connection)).toString()
  }
  assert.equal(await ask(80, 'ping'), 'ping')
  assert.equal(await ask(81, 'ping'), 'hi')
  await assert.rejects(ask(82, ''), { reason: 'failed' })
  world.runtime.endContainer(id, 0)
  await assert.rejects(ask(80, ''), { reason: 'failed' })
})

test('simulated images are pulled unless a script sets credentials, failures or delays', async () => {
  const world = new World({
    images: {
      secret: { auth: { username: 'me', password: 'it' } },
      flaky: { pullError: 'connection reset', pullFailures: 1 },
      gone: { pullError: 'not found' },
      slow: { pullMs: 60_000, sizeBytes: 5, uid: 7 },
    },
  })
  const { runtime } = world
  assert.equal(await world.do(runtime.imageStatus('any:1')), undefined)
  const id = await world.do(runtime.pullImage('any:1', undefined))
  const image = await world.do(runtime.imageStatus(id))
  assert.deepEqual(image?.tags, ['docker.io/library/any:1'])
  assert.equal((await world.do(runtime.imageStatus(image?.digests[0] ?? '')))?.id, id)
  await assert.rejects(world.do(runtime.pullImage('secret', undefined)), /401 Unauthorized/)
  await world.do(runtime.pullImage('secret', { username: 'me', password: 'it' }))
  await world.do(runtime.pullImage('secret', { auth: Buffer.from('me:it').toString('base64') }))
  await assert.rejects(world.do(runtime.pullImage('flaky', undefined)), /connection reset/)
  await world.do(runtime.pullImage('flaky', undefined))
  await assert.rejects(world.do(runtime.pullImage('gone', undefined)), /not found/)
  await assert.rejects(world.do(runtime.pullImage('slow', undefined, { timeoutMs: 10 })), {
    reason: 'timeout',
  })
  await world.do(runtime.pullImage('slow', undefined))
  assert.equal((await world.do(runtime.imageStatus('slow')))?.uid, 7)
  await world.do(runtime.removeImage(id))
  assert.equal(
    (await world.do(runtime.listImages())).some(one => one.id === id),
    false,
  )
})

test('the simulated runtime reports faults while its containers keep running', async () => {
  const world = new World()
  const { runtime } = world
  const id = await world.start('it', { command: ['sleep', '5'] })
  const heard: (string | undefined)[] = []
  const controller = new AbortController()
  const listening = (async () => {
    for await (const uid of runtime.containerEvents(controller.signal)) heard.push(uid)
  })()
  await world.simulation.advance(1_000)
  runtime.faults.disconnect()
  await assert.rejects(world.do(runtime.listContainers()), { reason: 'unavailable' })
  await world.simulation.advance(10_000)
  runtime.faults.reconnect()
  assert.equal(await world.stand(id), '0 Completed after 5000')
  runtime.faults.delay('status', 3_000)
  await assert.rejects(
    world.do(runtime.listContainers({}, { timeoutMs: 1 }).then(() => runtime.status(AbortSignal.abort()))),
  )
  runtime.faults.delay('all', Infinity)
  await assert.rejects(world.do(runtime.listImages({ timeoutMs: 2_000 })), { reason: 'timeout' })
  runtime.faults.delay('all', 0)
  runtime.faults.fail('listImages', new CriError('failed', 'no'), 2)
  await assert.rejects(world.do(runtime.listImages()), { message: 'no' })
  await assert.rejects(world.do(runtime.listImages()), { message: 'no' })
  assert.equal((await world.do(runtime.listImages())).length, 1)
  controller.abort()
  await world.do(listening)
  // The exit happened while the runtime was away, so that only the reconnection tells of it.
  assert.deepEqual(heard, [undefined, undefined])
})

test('calls in progress fail when the simulated runtime disconnects; a call without answer is performed', async () => {
  const world = new World()
  const { runtime } = world
  const id = await world.start('it')
  runtime.faults.delay('stopContainer', 5_000)
  const stopping = runtime.stopContainer(id, 1)
  const outcome = assert.rejects(stopping, { reason: 'unavailable' })
  await world.simulation.advance(1_000)
  runtime.faults.disconnect()
  await world.do(outcome)
  runtime.faults.reconnect()
  await world.simulation.advance(10_000)
  assert.equal((await world.do(runtime.containerStatus(id))).state, 'running')
  runtime.faults.clear()
  runtime.faults.loseAnswers('stopContainer', new CriError('timeout', 'late'))
  await assert.rejects(world.do(runtime.stopContainer(id, 1)), { message: 'late' })
  assert.equal((await world.do(runtime.containerStatus(id))).state, 'exited')
})

test('a simulated runtime tells of possible changes when its event stream is back', async () => {
  const world = new World()
  const { runtime } = world
  const heard: (string | undefined)[] = []
  const controller = new AbortController()
  const listening = (async () => {
    for await (const uid of runtime.containerEvents(controller.signal)) heard.push(uid)
  })()
  runtime.faults.disconnectEvents()
  await world.start('it')
  assert.deepEqual(heard, [undefined])
  runtime.faults.reconnectEvents()
  await world.simulation.advance(1)
  controller.abort()
  await world.do(listening)
  assert.deepEqual(heard, [undefined, undefined])
})

test('killing a simulated sandbox ends its containers and releases its address', async () => {
  const world = new World({ podCidrs: ['10.0.0.0/30', 'fd00::/64'] })
  const { runtime } = world
  const id = await world.start('it')
  const [sandbox] = await world.do(runtime.listPodSandbox({ podUid: 'u0' }))
  const status = await world.do(runtime.podSandboxStatus(sandbox?.id ?? ''))
  assert.deepEqual([status.state, status.addresses], ['ready', ['10.0.0.2', 'fd00::2']])
  await assert.rejects(world.start('other'), /no IP addresses available in range set: 10.0.0.0\/30/)
  runtime.killSandbox(status.id)
  assert.equal(await world.stand(id), '137 Error after 0')
  assert.equal((await world.do(runtime.podSandboxStatus(status.id))).state, 'not-ready')
  await world.start('other')
  await world.do(runtime.removePodSandbox(status.id))
  await world.do(runtime.removePodSandbox(status.id))
  await assert.rejects(world.do(runtime.containerStatus(id)), { reason: 'not-found' })
  assert.deepEqual(await world.do(runtime.listContainers({ podUid: 'u0' })), [])
})

test('thousands of simulated pods start without virtual time', async () => {
  const world = new World()
  for (let index = 0; index < 3_000; index++) await world.start('it', { command: ['sleep', '60'] })
  assert.equal((await world.do(world.runtime.listContainers())).length, 3_000)
  assert.equal((await world.do(world.runtime.listContainers({ podUid: 'u2999' }))).length, 1)
  await world.simulation.advance(61_000)
  const containers = await world.do(world.runtime.listContainers())
  assert.ok(containers.every(({ state }) => state === 'exited'))
})

test('simulated pods are reachable at their addresses as scripted', async () => {
  const world = new World({
    containers: {
      web: { http: { '/': { body: 'hi' }, '/slow': { afterMs: 2_000 }, '*': { status: 404 } } },
      strict: { ports: { 81: { answer: 'hello' } }, grpcHealth: 2 },
    },
  })
  const { podNetwork } = world.runtime
  const ids = [await world.start('web'), await world.start('strict')]
  const [web, strict] = ['10.244.0.2', '10.244.0.3']
  const get = async (origin: string, path: string): Promise<string> => {
    const client = podNetwork.connectHttp({ origin })
    const before = world.simulation.nowMs
    const answer = await world.do(client.request({ method: 'GET', path }))
    const body = Buffer.concat(await Array.fromAsync(answer.body)).toString()
    return `${answer.status} ${body} ${world.simulation.nowMs - before}`
  }
  assert.equal(await get(`http://${web}:8080`, '/'), '200 hi 0')
  assert.equal(await get(`https://${web}`, '/slow'), '200  2000')
  assert.equal(await get(`http://${web}`, '/none'), '404  0')
  await assert.rejects(get(`http://${strict}:80`, '/'), { reason: 'unreachable' })
  await assert.rejects(podNetwork.connect({ host: '10.9.9.9', port: 80 }), { code: 'ECONNREFUSED' })
  const connection = await podNetwork.connect({ host: strict, port: 81 })
  assert.equal(Buffer.concat(await Array.fromAsync(connection)).toString(), 'hello')
  const channel = podNetwork.connectGrpc({ targets: [`${strict}:81`] })
  assert.deepEqual([...(await channel.unary('/grpc.health.v1.Health/Check', new Uint8Array()))], [8, 2])
  for (const id of ids) world.runtime.endContainer(id, 0)
  await assert.rejects(get(`http://${web}`, '/'), { reason: 'unreachable' })
  await assert.rejects(podNetwork.connect({ host: strict, port: 81 }), { code: 'ECONNREFUSED' })
})
