import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Containerd } from '#/cri/containerd.ts'
import { connectHttp, loadGrpc, nodePlatform } from '#/platform/node.ts'
import type { Clock } from '#/platform/platform.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { TestCriServer, type CriServerOptions, type ServedContainer } from './test-cri-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connectGrpc = await loadGrpc()
const [created, running, exited] = [0, 1, 2]
const deleted = 3

test('a CRI event reports the pod that it names, and a full resync when it names none', async t => {
  const world = await World.start(t, { hasCriEvents: true, hasContainerdEvents: true })
  world.server.containers.set('c1', () => container('c1', 'u1', running))
  await using changes = world.follow()
  await changes.tells(undefined)
  await world.subscribed()
  world.server.tellCri({ containerId: 'c9', podSandboxStatus: { metadata: { uid: 'u9' } } })
  await changes.tells('u9')
  world.server.tellCri({ containerId: 'nobody' })
  await changes.tells(undefined)
})

test('an exit event is reported only after the CRI status shows the exit', async t => {
  const world = await World.start(t, { hasContainerdEvents: true })
  let asked = 0
  let state = created
  world.server.containers.set('c1', () => {
    if (state !== created && ++asked > 4) state = exited
    return container('c1', 'u1', state)
  })
  await using changes = world.follow()
  await changes.tells(undefined)
  await world.subscribed()
  state = running
  world.server.tellExit({ containerId: 'c1', id: 'some-command' })
  world.server.tellExit({ containerId: 'c1', id: 'c1' })
  await changes.tells('u1')
  assert.equal(state, exited)
})

test('an exit event is reported after some time even if the CRI status never shows the exit', async t => {
  const world = await World.start(t, { hasContainerdEvents: true })
  world.server.containers.set('c1', () => container('c1', 'u1', running))
  const clock = new ManualClock()
  await using changes = world.follow(clock)
  await changes.tells(undefined)
  await world.subscribed()
  world.server.tellExit({ containerId: 'c1', id: 'c1' })
  clock.skip()
  await changes.tells('u1')
})

test('a deletion event of an unknown container reports no pod', async t => {
  const world = await World.start(t, { hasCriEvents: true })
  await using changes = world.follow()
  await changes.tells(undefined)
  await world.subscribed()
  world.server.tellCri({ containerId: 'c8', containerEventType: deleted })
  world.server.tellCri({ containerId: 'c9', podSandboxStatus: { metadata: { uid: 'u9' } } })
  assert.equal(await changes.next(), 'u9')
})

test('containerd 1.7, which loses CRI events, is followed by its own events', async t => {
  for (const [runtimeVersion, expected] of [
    ['v1.7.24', 0],
    ['1.7.24~ds1', 0],
    ['v2.1.9', 1],
  ] as const) {
    const version = { runtimeName: 'containerd', runtimeVersion }
    const world = await World.start(t, { hasCriEvents: true, hasContainerdEvents: true, version })
    await using changes = world.follow()
    await changes.tells(undefined)
    await world.subscribed()
    assert.equal(world.server.subscribers.cri, expected, runtimeVersion)
  }
})

/** As containerd from 1.7 on tells of a container that ended while it was away. */
const lost = { state: exited, exitCode: 255, reason: 'Unknown' }

test('an exit code lost by CRI is recovered from the exit event of the shim', async t => {
  const world = await World.start(t, { hasCriEvents: true, hasContainerdEvents: true })
  world.server.readySandboxes.add('s1')
  const clock = new ManualClock()
  await using changes = world.follow(clock)
  const codes = [
    ['c1', 0, 'Unknown', 'Completed'],
    ['c2', 3, 'Unknown', 'Error'],
    ['c3', 137, 'OOMKilled', 'OOMKilled'],
  ] as const
  await changes.tells(undefined)
  await world.followsExits()
  for (const [id, exitStatus, said, expected] of codes) {
    const finishedAt = BigInt(clock.now()) * 1_000_000n
    world.server.containers.set(id, () => ({
      ...container(id, 'u1', exited),
      ...lost,
      reason: said,
      finishedAt,
    }))
    const asked = changes.runtime.containerStatus(id)
    await waitUntil(() => clock.sleeps(exitEventMs))
    world.server.tellExit({ containerId: id, id, exitStatus, exitedAt: { seconds: 7, nanos: 5 } })
    for (const status of [await asked, await changes.runtime.containerStatus(id)]) {
      assert.deepEqual(
        [status.exitCode, status.reason, status.finishedAt],
        [exitStatus, expected, 7_000_000_005n],
      )
    }
  }
})

test('a status with an unrecoverable exit code is returned without waiting', async t => {
  const world = await World.start(t, { hasCriEvents: true, hasContainerdEvents: true })
  // A call that returns does not wait: this clock stands still.
  const clock = new ManualClock()
  const finishedAt = BigInt(clock.now()) * 1_000_000n
  const old = finishedAt - 60_000_000_000n
  await using changes = world.follow(clock)
  await changes.tells(undefined)
  await world.followsExits()
  const cases = [
    { why: 'the sandbox is not ready', isReady: false, status: { ...lost, finishedAt } },
    { why: 'it is long ago', isReady: true, status: { ...lost, finishedAt: old } },
    { why: 'CRI knows it', isReady: true, status: { ...lost, reason: 'Error', finishedAt } },
  ]
  for (const { why, isReady, status } of cases) {
    world.server.readySandboxes.clear()
    if (isReady) world.server.readySandboxes.add('s1')
    world.server.containers.set('c1', () => ({ ...container('c1', 'u1', exited), ...status }))
    const found = await changes.runtime.containerStatus('c1')
    assert.deepEqual([found.exitCode, found.reason], [255, status.reason], why)
  }
})

test('without an exit event a status keeps the code of CRI, after a wait that can be aborted', async t => {
  const world = await World.start(t, { hasCriEvents: true, hasContainerdEvents: true })
  world.server.readySandboxes.add('s1')
  const clock = new ManualClock()
  await using changes = world.follow(clock)
  await changes.tells(undefined)
  await world.followsExits()
  const finishedAt = BigInt(clock.now() - 2_000) * 1_000_000n
  world.server.containers.set('c1', () => ({ ...container('c1', 'u1', exited), ...lost, finishedAt }))
  const status = changes.runtime.containerStatus('c1')
  await waitUntil(() => clock.sleeps(exitEventMs - 2_000))
  clock.wake(exitEventMs - 2_000)
  const { exitCode, reason } = await status
  assert.deepEqual([exitCode, reason], [255, 'Unknown'])
  const abortion = new AbortController()
  const aborted = changes.runtime.containerStatus('c1', { signal: abortion.signal })
  await waitUntil(() => clock.sleeps(exitEventMs - 2_000))
  abortion.abort(new Error('enough'))
  await assert.rejects(aborted, /enough/)
})

test('a runtime without events is followed by relisting', async t => {
  const world = await World.start(t, {})
  let state = running
  world.server.containers.set('c1', () => container('c1', 'u1', state))
  const clock = new ManualClock()
  await using changes = world.follow(clock)
  await changes.tells(undefined)
  const changesBy = async (change: () => void): Promise<void> => {
    await waitUntil(() => clock.sleeps(relistMs))
    change()
    clock.wake(relistMs)
    await changes.tells('u1')
  }
  await changesBy(() => (state = exited))
  await changesBy(() => (state = running))
  await changesBy(() => world.server.containers.clear())
})

test('a restarted runtime is reported as a full resync', async t => {
  const world = await World.start(t, { hasCriEvents: true })
  await using changes = world.follow()
  await changes.tells(undefined)
  await world.subscribed()
  await world.restart()
  await changes.tells(undefined)
  await world.subscribed()
  world.server.tellCri({ containerId: 'c1', podSandboxStatus: { metadata: { uid: 'u1' } } })
  await changes.tells('u1')
})

test('following starts with a full resync when the runtime becomes available later', async t => {
  const folder = await temporaryFolder(t)
  const socketPath = join(folder, 'cri.sock')
  const clock = new ManualClock()
  await using runtime = Containerd.connect({
    platform: { ...platform, clock },
    connectGrpc,
    connectHttp,
    socketPath,
  })
  const end = new AbortController()
  const changes = runtime.containerEvents(end.signal)[Symbol.asyncIterator]()
  const first = changes.next()
  // The attempts to list, to follow events and to follow exits have failed.
  await waitUntil(() => clock.sleeping === 3)
  clock.skip()
  await using _server = await TestCriServer.start({ socketPath })
  assert.deepEqual(await first, { value: undefined, done: false })
  end.abort()
  while (!(await changes.next()).done);
})

function container(id: string, podUid: string, state: number): ServedContainer {
  return { id, metadata: { name: id }, state, labels: { 'io.kubernetes.pod.uid': podUid } }
}

class World {
  readonly #options: CriServerOptions
  server: TestCriServer

  private constructor(options: CriServerOptions, server: TestCriServer) {
    this.#options = options
    this.server = server
  }

  static async start(t: TestContext, options: Omit<CriServerOptions, 'socketPath'>): Promise<World> {
    const folder = await temporaryFolder(t)
    const all = { ...options, socketPath: join(folder, 'cri.sock') }
    const world = new World(all, await TestCriServer.start(all))
    t.after(() => world.server[Symbol.asyncDispose]())
    return world
  }

  async restart(): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    this.server = await TestCriServer.start(this.#options)
  }

  /** Events of CRI are followed, or those of containerd as changes and for the exits of tasks. */
  async subscribed(): Promise<void> {
    await waitUntil(() => {
      const { cri, containerd } = this.server.subscribers
      return cri > 0 || containerd > 1
    })
  }

  async followsExits(): Promise<void> {
    await waitUntil(() => this.server.subscribers.containerd > 0)
  }

  follow(clock: Clock = platform.clock): Changes {
    const { socketPath } = this.#options
    const options = { platform: { ...platform, clock }, connectGrpc, connectHttp, socketPath }
    return new Changes(Containerd.connect(options))
  }
}

/** Time in which a shim sends the event of an exit again. */
const exitEventMs = 6_000

/** Period of relisting without events. */
const relistMs = 1_000

/** Stands still; a sleep ends when the test wakes it or its signal is aborted. */
class ManualClock implements Clock {
  #isSkipping = false
  readonly #sleeps = new Set<{ readonly delayMs: number; readonly wake: () => void }>()

  now(): number {
    return 1_700_000_000_000
  }

  monotonicMs(): number {
    return 0
  }

  setTimer(): { cancel: () => void } {
    return { cancel: () => undefined }
  }

  async turn(): Promise<void> {
    await platform.clock.turn()
  }

  beginWork(): void {}

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const sleep = { delayMs, wake: resolve }
    const abort = (): void => reject(signal?.reason as Error)
    this.#sleeps.add(sleep)
    if (this.#isSkipping) setImmediate(resolve)
    signal?.addEventListener('abort', abort)
    try {
      await promise
    } finally {
      this.#sleeps.delete(sleep)
      signal?.removeEventListener('abort', abort)
    }
  }

  get sleeping(): number {
    return this.#sleeps.size
  }

  sleeps(delayMs: number): boolean {
    return [...this.#sleeps].some(each => each.delayMs === delayMs)
  }

  wake(delayMs: number): void {
    for (const sleep of this.#sleeps) if (sleep.delayMs === delayMs) sleep.wake()
  }

  /** From now on sleeps end at once. */
  skip(): void {
    this.#isSkipping = true
    for (const { wake } of this.#sleeps) wake()
  }
}

class Changes implements AsyncDisposable {
  readonly runtime: Containerd
  readonly #end = new AbortController()
  readonly #changes: AsyncIterator<string | undefined>

  constructor(runtime: Containerd) {
    this.runtime = runtime
    this.#changes = runtime.containerEvents(this.#end.signal)[Symbol.asyncIterator]()
  }

  /** Resolves at the next event for this pod, skipping others. */
  async tells(podUid: string | undefined): Promise<void> {
    while ((await this.next()) !== podUid);
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.#changes.next()
    assert.ok(!done, 'changes never end')
    return value
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.#changes.return?.()
    await this.runtime[Symbol.asyncDispose]()
  }
}
