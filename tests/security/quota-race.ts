/** Runs quota races, one for each seed, and posts their number. Runs as a worker thread. */
import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import { SeededRandom } from '#/base/seeded-random.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { delayedStore } from '#/store/test-delayed-store.ts'
import { apiRequest } from './api-request.ts'
import { pod } from './users.ts'

const creations = 50
const hard = 10

/** Longer than other operations, so that requests are often reordered. */
const delayMsMax = 8

interface Answer {
  readonly status: number
  readonly value: unknown
}

/** Two complete API servers on one slow store. All rounds use the same instance. */
class World {
  readonly #simulation = new Simulation({ seed: 4 })
  readonly #platform = this.#simulation.host('api')
  readonly #servers: ApiServer[] = []
  #store: MemoryStore | undefined
  /** Set during a round; between rounds the store has no latency. */
  #random: SeededRandom | undefined

  async start(): Promise<void> {
    const platform = this.#platform
    this.#store = await MemoryStore.open({ platform })
    const store = delayedStore(this.#store, () => this.#delay())
    const admission = await readAdmission(platform.files, { disable: ['ServiceAccount'] })
    for (let index = 0; index < 2; index++) {
      const started = ApiServer.start({ platform, store, build: { version: '0.0.0' }, admission })
      this.#servers.push(await this.#simulation.run(started))
    }
  }

  async stop(): Promise<void> {
    await this.#simulation.run(Promise.all(this.#servers.map(server => server.stop())))
    await this.#store?.[Symbol.asyncDispose]()
  }

  async play(seed: number): Promise<void> {
    const namespace = `n${seed}`
    await this.#prepare(namespace)
    const random = new SeededRandom(`quota race ${seed}`)
    this.#random = random
    // Every other seed uses only one server: then only that server's ordering protects the quota.
    const servers = this.#servers.slice(0, 1 + (seed % 2))
    const later = async (): Promise<ApiServer> => {
      await this.#platform.clock.sleep(random.integer(20))
      return servers[random.integer(servers.length)]!
    }
    const pods = `/api/v1/namespaces/${namespace}/pods`
    const creating = Array.from({ length: creations }, async (_, index) => {
      for (;;) {
        const server = await later()
        const { status, value } = await this.#ask(server, 'POST', pods, pod(`p${index}`))
        // A conflict is retried, as by clients.
        if (status !== 409) return { status, message: (value as { message?: string }).message ?? '' }
      }
    })
    const disturbing = Array.from({ length: random.integer(4) }, async (_, index) => {
      const server = await later()
      const change = { metadata: { annotations: { [`a${index}`]: 'x' } } }
      const { status } = await this.#ask(server, 'PATCH', quotaIn(namespace), change)
      assert.ok(status === 200 || status === 409, `${status}`)
    })
    const outcomes = await this.#simulation.run(Promise.all(creating))
    await this.#simulation.run(Promise.all(disturbing))
    this.#random = undefined
    const made = outcomes.filter(({ status }) => status === 201).length
    const refused = outcomes.filter(({ status, message }) => status === 403 && exceeded.test(message)).length
    const expected = { made: hard, refused: creations - hard, stored: hard, used: String(hard) }
    assert.deepEqual({ made, refused, ...(await this.#count(namespace)) }, expected, `seed ${seed}`)
  }

  async #prepare(namespace: string): Promise<void> {
    const [first] = this.#servers
    const quota = { hard: { pods: String(hard) } }
    const ask = (method: string, path: string, body: object): Promise<Answer> => {
      return this.#simulation.run(this.#ask(first!, method, path, body))
    }
    await ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    const folder = `/api/v1/namespaces/${namespace}/resourcequotas`
    await ask('POST', folder, { metadata: { name: 'q' }, spec: quota })
    // The initial status set by the quota controller.
    const status = { status: { ...quota, used: { pods: '0' } } }
    assert.equal((await ask('PATCH', `${quotaIn(namespace)}/status`, status)).status, 200)
    for (const server of this.#servers) await this.#read(server, quotaIn(namespace))
  }

  async #count(namespace: string): Promise<{ readonly stored: number; readonly used: string | undefined }> {
    const [first] = this.#servers
    const pods = (await this.#read(first!, `/api/v1/namespaces/${namespace}/pods`)) as { items: unknown[] }
    const { status } = (await this.#read(first!, quotaIn(namespace))) as {
      readonly status: { readonly used: Readonly<Record<string, string>> }
    }
    return { stored: pods.items.length, used: status.used['pods'] }
  }

  async #read(server: ApiServer, path: string): Promise<unknown> {
    return (await this.#simulation.run(this.#ask(server, 'GET', path))).value
  }

  async #ask(server: ApiServer, method: string, path: string, content?: object): Promise<Answer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const request = apiRequest(method, path, { body: content, headers: { 'content-type': type } })
    const { status, body } = await server.handle(request)
    return { status, value: body?.type === 'value' ? body.value : undefined }
  }

  async #delay(): Promise<void> {
    const delayMs = this.#random?.integer(delayMsMax) ?? 0
    if (delayMs > 0) await this.#platform.clock.sleep(delayMs)
  }
}

const exceeded = /exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10$/

function quotaIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/resourcequotas/q`
}

const { seeds } = workerData as { readonly seeds: readonly number[] }
const world = new World()
await world.start()
for (const seed of seeds) await world.play(seed)
await world.stop()
parentPort!.postMessage(seeds.length)
