/** A server that only sleeps for each request, behind the flow control under test, in virtual time. */
import { defaultResources } from '#/api/builtin.ts'
import { notFound } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { Scheme } from '#/api/scheme.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { flowControlObjects } from '../bootstrap/flow-control.ts'
import { FlowControl } from '../flow-control.ts'
import { Metrics } from '../metrics.ts'
import { pipeline, type Handle } from '../pipeline.ts'
import { WatchCache } from '../registry/watch-cache.ts'
import { encodeForStore } from '../registry/stored-object.ts'
import { storeRoot } from '../registry/store-keys.ts'
import type { ApiResponse, UserInfo } from '../request.ts'

interface LimitedServerOptions {
  readonly seats: number
  readonly serviceMs: number
}

export interface Answer {
  readonly code: number
  readonly headers: ApiResponse['headers']
  readonly tookMs: number
}

export class LimitedServer {
  readonly simulation: Simulation
  readonly flowControl: FlowControl
  readonly metrics = new Metrics()
  readonly store: MemoryStore
  /** Number of requests being served, and its maximum. */
  running = 0
  runningMax = 0
  readonly #handle: Handle
  readonly #stopping: AbortController

  private constructor(simulation: Simulation, store: MemoryStore, options: LimitedServerOptions) {
    const platform = simulation.host('api')
    const cache = new WatchCache({ store, platform, prefix: storeRoot })
    this.simulation = simulation
    this.store = store
    this.#stopping = new AbortController()
    const { metrics } = this
    this.flowControl = new FlowControl({
      registry: { platform, cache, scheme, metrics },
      seats: options.seats,
    })
    this.#handle = pipeline(
      platform,
      [
        (context, next) => {
          context.user = context.request.peer.user!
          return next(context)
        },
        this.flowControl.stage,
        (context, next) => {
          if (context.request.query.get('fail') === 'now') throw notFound({ group: '', kind: 'pods' })
          return next(context)
        },
      ],
      async ({ request }) => {
        if (request.query.get('fail') === 'later') throw notFound({ group: '', kind: 'pods' })
        this.running++
        this.runningMax = Math.max(this.runningMax, this.running)
        await platform.clock.sleep(Number(request.query.get('ms') ?? options.serviceMs))
        this.running--
        return { status: 200 }
      },
    )
    void cache.run(this.#stopping.signal, () => undefined)
  }

  static async start(options: LimitedServerOptions, others: readonly object[] = []): Promise<LimitedServer> {
    const simulation = new Simulation({ seed: 1 })
    const store = await MemoryStore.open({ platform: simulation.host('api') })
    const server = new LimitedServer(simulation, store, options)
    for (const object of [...flowControlObjects(), ...(others as KubernetesObject[])])
      await server.put(object)
    await simulation.advance(100)
    return server
  }

  async put(object: KubernetesObject): Promise<void> {
    const { kind = '', metadata } = object
    const folder = kind === 'FlowSchema' ? 'flowschemas' : 'prioritylevelconfigurations'
    const identified = { ...object, metadata: { ...metadata, uid: `uid-of-${metadata.name}` } }
    const key = `${storeRoot}${folder}/${metadata.name}`
    await this.simulation.run(this.store.create(key, encodeForStore(identified)))
  }

  async send(user: UserInfo, line: string, signal = new AbortController().signal): Promise<Answer> {
    const [method = '', url = ''] = line.split(' ')
    const [path = '', query = ''] = url.split('?')
    const startedMs = this.simulation.nowMs
    const { status, headers } = await this.#handle({
      method,
      path,
      query: new URLSearchParams(query),
      headers: {},
      signal,
      body: { bytes: async () => new Uint8Array() },
      peer: { address: '10.0.0.1', user },
    })
    return { code: status, headers, tookMs: this.simulation.nowMs - startedMs }
  }

  stop(): void {
    this.#stopping.abort()
  }
}

const scheme = new Scheme(defaultResources())
