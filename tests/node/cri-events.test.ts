import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Containerd } from '#/cri/containerd.ts'
import { connectHttp, loadGrpc, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { TestCriServer, type CriServerOptions, type ServedContainer } from './test-cri-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connectGrpc = await loadGrpc()
const [created, running, exited] = [0, 1, 2]

test('events of CRI are told by the pod they name, or by that of their container', async t => {
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

test('a container whose end CRI does not tell yet is not told of before', async t => {
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
  world.server.tellExit('c1', 'some-command')
  world.server.tellExit('c1', 'c1')
  await changes.tells('u1')
  assert.equal(state, exited)
})

test('an end that CRI never tells is told of all the same', async t => {
  const world = await World.start(t, { hasContainerdEvents: true })
  world.server.containers.set('c1', () => container('c1', 'u1', running))
  await using changes = world.follow()
  await changes.tells(undefined)
  await world.subscribed()
  world.server.tellExit('c1', 'c1')
  await changes.tells('u1')
})

test('where there are no events lists are compared', async t => {
  const world = await World.start(t, {})
  let state = running
  world.server.containers.set('c1', () => container('c1', 'u1', state))
  await using changes = world.follow()
  await changes.tells(undefined)
  // Twice, so that the first list was surely taken before.
  for (const [uid, next] of [
    ['u1', exited],
    ['u1', running],
  ] as const) {
    await platform.clock.sleep(1_500)
    state = next
    await changes.tells(uid)
  }
  world.server.containers.clear()
  await changes.tells('u1')
})

test('a runtime that was away and is back says that anything may have changed', async t => {
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

test('whoever follows before the runtime is there hears of it when it is', async t => {
  const folder = await temporaryFolder(t)
  const socketPath = join(folder, 'cri.sock')
  await using runtime = Containerd.connect({ platform, connectGrpc, connectHttp, socketPath })
  const end = new AbortController()
  const changes = runtime.changes(end.signal)[Symbol.asyncIterator]()
  const first = changes.next()
  await platform.clock.sleep(300)
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

  async subscribed(): Promise<void> {
    while (this.server.subscribers === 0) await platform.clock.sleep(5)
  }

  follow(): Changes {
    const { socketPath } = this.#options
    return new Changes(Containerd.connect({ platform, connectGrpc, connectHttp, socketPath }))
  }
}

class Changes implements AsyncDisposable {
  readonly #runtime: Containerd
  readonly #end = new AbortController()
  readonly #changes: AsyncIterator<string | undefined>

  constructor(runtime: Containerd) {
    this.#runtime = runtime
    this.#changes = runtime.changes(this.#end.signal)[Symbol.asyncIterator]()
  }

  /** Resolves when it is said next, whatever is said before. */
  async tells(podUid: string | undefined): Promise<void> {
    for (;;) {
      const { value, done } = await this.#changes.next()
      assert.ok(!done, 'changes never end')
      if (value === podUid) return
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.#changes.return?.()
    await this.#runtime[Symbol.asyncDispose]()
  }
}
