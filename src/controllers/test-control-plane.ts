/**
 * Runs controllers on a real API server for tests: memory store, virtual time, no sockets, no nodes. The test
 * acts as scheduler and kubelet by writing the status of pods and nodes.
 */
import type { TestContext } from 'node:test'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { decodePass, passHeader, type Pass } from '#/api/origin.ts'
import type { Resource } from '#/api/resource.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import type { ApiServerOptions } from '#/apiserver/api-server-options.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import type { Platform } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Controller } from './controller.ts'
import { ControllerManager } from './controller-manager.ts'

export interface TestControlPlane {
  readonly platform: Platform
  readonly simulation: Simulation
  /** Metrics of the controllers. */
  readonly metrics: MetricsRegistry
  /** The passes of all writes so far, with their requests: `POST /api/v1/namespaces/default/pods`. */
  readonly passes: readonly SentPass[]
  /** Acts as an administrator. Its promises settle only inside `run`. */
  readonly client: Client
  /** The API server, for requests with credentials. */
  readonly handleRequest: ApiServer['handle']
  /** A client that acts as the given user. */
  readonly clientAs: (username: string, groups: readonly string[]) => Client
  /** Advances virtual time until the promise settles. */
  readonly run: <T>(promise: Promise<T>) => Promise<T>
  /** Advances virtual time by one second, so that all immediate consequences take effect. */
  readonly settle: () => Promise<void>
  readonly advance: (ms: number) => Promise<void>
  /** Shorthands for common steps; each one runs to completion and then settles. */
  readonly create: <T extends KubernetesObject>(resource: Resource<T>, object: T) => Promise<Stored<T>>
  readonly list: <T extends KubernetesObject>(
    resource: Resource<T>,
    namespace?: string,
  ) => Promise<readonly Stored<T>[]>
  /**
   * Updates the current object with the result of the function; `changeStatus` writes to the status
   * subresource.
   */
  readonly change: <T extends KubernetesObject>(
    resource: Resource<T>,
    key: string,
    change: (object: Stored<T>) => T,
  ) => Promise<Stored<T>>
  readonly changeStatus: <T extends KubernetesObject>(
    resource: Resource<T>,
    key: string,
    change: (object: Stored<T>) => T,
  ) => Promise<Stored<T>>
}

export interface SentPass extends Pass {
  readonly request: string
}

export interface TestControlPlaneOptions extends Pick<ApiServerOptions, 'enabledVersions' | 'featureGates'> {
  readonly seed?: number
  readonly admission?: NonNullable<ApiServerOptions['admission']>
  readonly authentication?: NonNullable<ApiServerOptions['authentication']>
}

export async function startTestControlPlane(
  t: Pick<TestContext, 'after'>,
  controllers: readonly Controller[],
  { seed = 1, ...serverOptions }: TestControlPlaneOptions = {},
): Promise<TestControlPlane> {
  const simulation = new Simulation({ seed })
  const platform = simulation.host('control-plane')
  const run = <T>(promise: Promise<T>): Promise<T> => simulation.run(promise)
  const store = await run(MemoryStore.open({ platform }))
  const server = await run(
    ApiServer.start({ platform, store, build: { version: '0.0.0' }, ...serverOptions }),
  )
  const passes: SentPass[] = []
  const handle: ApiServer['handle'] = request => {
    const { method, path, headers } = request
    const pass = decodePass(headers[passHeader] ?? '')
    if (pass !== undefined) passes.push({ ...pass, request: `${method} ${path}` })
    return server.handle(request)
  }
  const clientAs = (username: string, groups: readonly string[]): Client => {
    const transport = inProcessTransport({
      handle,
      user: { username, groups: [...groups, 'system:authenticated'] },
    })
    return clientOf({ platform, transport, userAgent: username })
  }
  const client = clientAs('kubernetes-admin', ['system:masters'])
  const metrics = new MetricsRegistry()
  const manager = new ControllerManager({
    platform,
    metrics,
    controllers,
    client: clientAs('system:kube-controller-manager', []),
    clientFor: account => {
      const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system']
      return clientAs(`system:serviceaccount:kube-system:${account}`, groups)
    },
  })
  const stopping = new AbortController()
  const running = manager.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await run(running)
    await run(server.stop())
  })
  const settle = (): Promise<void> => simulation.advance(settleMs)
  await settle()
  return {
    platform,
    simulation,
    metrics,
    passes,
    client,
    handleRequest: server.handle,
    clientAs,
    run,
    settle,
    advance: ms => simulation.advance(ms),
    ...shorthands(client, run, settle),
  }
}

/** Virtual; long enough for immediate reconciles and the first retries. */
const settleMs = 1_000

function shorthands(
  client: Client,
  run: TestControlPlane['run'],
  settle: () => Promise<void>,
): Pick<TestControlPlane, 'create' | 'list' | 'change' | 'changeStatus'> {
  const settled = async <T>(promise: Promise<T>): Promise<T> => {
    const result = await run(promise)
    await settle()
    return result
  }
  const at = (key: string): { readonly namespace?: string; readonly name: string } => {
    const [first = '', second] = key.split('/')
    return second === undefined ? { name: first } : { namespace: first, name: second }
  }
  return {
    create: (resource, object) => settled(client.create(resource, object)),
    list: async (resource, namespace) => (await run(client.list(resource, { namespace }))).items,
    change: async (resource, key, change) => {
      return settled(client.update(resource, change(await run(client.get(resource, at(key))))))
    },
    changeStatus: async (resource, key, change) => {
      return settled(client.updateStatus(resource, change(await run(client.get(resource, at(key))))))
    },
  }
}
