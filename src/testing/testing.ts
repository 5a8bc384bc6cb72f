/**
 * A whole cluster inside a test process: API server, controllers, scheduler and simulated nodes, without
 * sockets and files. With a virtual clock, the default, five minutes pass in milliseconds and every run is
 * deterministic. See `docs/testing.md` for users' documentation.
 *
 * ```ts
 * await using cluster = await Cluster.start({ nodes: 3 })
 * await cluster.client.create(deployments, web)
 * await cluster.settle()
 * await cluster.clock.advance('5m')
 * ```
 *
 * With a virtual clock the cluster runs only while a call of `client` is in progress, and during `settle` and
 * `clock.advance`.
 */
import { tryParseDurationMs } from '#/api/text/duration.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import type { KubeletAccess } from '#/apiserver/kubelets.ts'
import type { Client } from '#/client/client.ts'
import { findResource } from '#/client/find-resource.ts'
import { openHistoryLog, type HistoryLog } from '#/history/history-log.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { HttpClientError, type HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import { ControlPlane } from '#/cluster/control-plane.ts'
import { simulatedNode, type SimulatedNodeOptions } from '#/cluster/simulated-nodes.ts'
import type { NodeShape } from '#/kubelet/hollow-kubelet.ts'
import { Activity, describeActivity } from './cluster/activity.ts'
import { ClusterResources } from './cluster/resources.ts'
import { readManifests, type Manifests } from './cluster/manifests.ts'
import { Programs, type Program, type RunningProgram } from './cluster/programs.ts'
import { drivenClient, type TestTime } from './time/test-time.ts'
import { virtualTime } from './time/virtual-time.ts'

export type { SimulatedNodeOptions } from '#/cluster/simulated-nodes.ts'
export type { Manifests } from './cluster/manifests.ts'
export type { Program, ProgramContext, RunningProgram } from './cluster/programs.ts'

export interface ClusterOptions {
  /** Number of nodes, or their options; default none. */
  readonly nodes?: number | readonly SimulatedNodeOptions[]
  /** Default `virtual`. */
  readonly clock?: 'virtual' | 'real'
  /** Default `memory`. The embedded store uses a temporary folder and requires a real clock. */
  readonly store?: 'memory' | 'embedded'
  /** Seed of all randomness, with a virtual clock. */
  readonly seed?: number
  /** Names of admission plugins in addition to the default ones: `AlwaysPullImages`. */
  readonly enableAdmissionPlugins?: readonly string[]
}

export interface ClusterClock {
  /** The cluster's time in milliseconds since 1970. */
  now(): number
  /** Advances the time by milliseconds, or by a duration such as `90s`, `5m`, `1h30m`. */
  advance(time: number | string): Promise<void>
}

export interface ClusterUser {
  readonly username: string
  /** In addition to `system:authenticated`. */
  readonly groups?: readonly string[]
}

export interface TraceOptions {
  /** Default `default`; ignored for cluster-scoped kinds. */
  readonly namespace?: string
}

export interface SettleOptions {
  /** Timeout in the cluster's time; default an hour, or a minute with a real clock. */
  readonly within?: number | string
}

const administrator: ClusterUser = { username: 'kubernetes-admin', groups: ['system:masters'] }

/** Of the changes that `trace` knows. */
const historyLimits = { maxAgeMs: 86_400_000, maxBytes: 16 * 1_048_576 }

/** Field manager of `apply`. */
const fieldManager = 'k8ts-testing'

export class Cluster implements AsyncDisposable {
  /** Acts as an administrator. */
  readonly client: Client
  readonly clock: ClusterClock
  /** The cluster's clock, timers and random numbers, for test code that runs in the cluster's time. */
  readonly platform: Platform
  readonly #time: TestTime
  readonly #server: ApiServer
  readonly #activity: Activity
  readonly #controlPlane: ControlPlane
  readonly #nodes: SimulatedNodes
  readonly #programs = new Programs()
  readonly #resources: ClusterResources
  #stopped: Promise<void> | undefined

  private constructor(time: TestTime, server: ApiServer, resources: ClusterResources) {
    const { platform } = time
    this.platform = platform
    this.#time = time
    this.#server = server
    this.#resources = resources
    this.#activity = new Activity({ handle: server.handle, clock: platform.clock })
    this.#controlPlane = new ControlPlane({ platform, server: this.#activity, controllers: controllersOf() })
    this.#nodes = new SimulatedNodes(this.#controlPlane)
    this.client = this.clientAs(administrator)
    this.clock = {
      now: () => platform.clock.now(),
      advance: async length => {
        await time.advance(milliseconds(length))
        this.#programs.throwFailure()
      },
    }
  }

  /** Resolves when the API server responds and every node is ready. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const { nodes = 0, clock = 'virtual', store: kind = 'memory', seed = 1 } = options
    const { enableAdmissionPlugins = [] } = options
    requireOneOf('clock', clock, ['virtual', 'real'])
    requireOneOf('store', kind, ['memory', 'embedded'])
    if (kind === 'embedded' && clock === 'virtual') {
      throw new TypeError("store 'embedded' requires clock 'real'")
    }
    const time = clock === 'virtual' ? virtualTime(seed) : await loadRealTime()
    const resources = new ClusterResources(time)
    try {
      const store = await time.runUntil(resources.openStore(kind))
      const { platform } = time
      const history = await openHistoryLog({ platform, folder: undefined, ...historyLimits })
      resources.started.use(history)
      const started: { controlPlane?: ControlPlane } = {}
      const server = await time.runUntil(
        startServer(time, store, {
          plugins: enableAdmissionPlugins,
          history,
          simulated: name => started.controlPlane?.kubeletClient(name),
        }),
      )
      resources.started.defer(() => server.stop())
      const cluster = new Cluster(time, server, resources)
      started.controlPlane = cluster.#controlPlane
      await cluster.#start(typeof nodes === 'number' ? Array.from({ length: nodes }, () => ({})) : nodes)
      return cluster
    } catch (error) {
      await resources.stop()
      throw error
    }
  }

  /** A client that acts as the given user. */
  clientAs({ username, groups }: ClusterUser): Client {
    return drivenClient(this.#controlPlane.clientAs(username, groups), this.#time)
  }

  /**
   * Path of a kubeconfig for clients outside the process; it exists as long as the cluster. The first call
   * starts an HTTPS listener on a local port. Requires a real clock.
   */
  kubeconfig(): Promise<string> {
    return this.#resources.kubeconfig(this.#activity.handle)
  }

  /** Server-side apply of manifests as an administrator, in order. Returns the resulting objects. */
  async apply(manifests: Manifests): Promise<readonly KubernetesObject[]> {
    const applied: KubernetesObject[] = []
    for (const { resource, object } of readManifests(manifests, this.#server.scheme)) {
      applied.push(await this.client.apply(resource, object, { fieldManager, force: true }))
    }
    return applied
  }

  /**
   * Runs a test program, such as a controller under test, in the cluster's time until the cluster stops. If
   * it fails, the next `settle`, `advance` or `stop` throws its error.
   */
  run(program: Program, user: ClusterUser = administrator): RunningProgram {
    const client = this.#controlPlane.clientAs(user.username, user.groups)
    const running = this.#programs.start(program, { client, platform: this.platform })
    const stop = (): Promise<void> => this.#time.runUntil(running.stop())
    return { stop, [Symbol.asyncDispose]: stop }
  }

  /** Starts a node, or restarts a stopped one with the same name. Returns its name. */
  startNode(options: SimulatedNodeOptions = {}): string {
    return this.#nodes.start(options)
  }

  /** Stops a node's heartbeats, as after a power failure. */
  async stopNode(name: string): Promise<void> {
    await this.#time.runUntil(this.#nodes.stop(name))
  }

  /**
   * Runs until the cluster is idle: nothing is written for a while (a second, or 0.2 s with a real clock),
   * and no controller, scheduler or node has pending work. Delayed work, such as the next start of a CronJob,
   * does not count. Throws after the timeout with a description of the activity.
   */
  async settle({ within }: SettleOptions = {}): Promise<void> {
    const withinMs = within === undefined ? this.#time.settleMsUsual : milliseconds(within)
    this.#activity.startCounting()
    const isIdle = (): boolean => this.#activity.isQuiet() && this.#controlPlane.isIdle
    const isSettled = await this.#time.settle(isIdle, withinMs).finally(() => this.#activity.stopCounting())
    this.#programs.throwFailure()
    if (!isSettled || this.#activity.runaway !== undefined) {
      throw new Error(
        describeActivity({ withinMs, activity: this.#activity, busy: this.#controlPlane.pendingWork() }),
      )
    }
  }

  /**
   * The latest chain of changes of an object, as `k8ts trace` shows it: `cluster.trace('deployment', 'web')`. Works
   * with the name of a deleted object, too.
   */
  async trace(kind: string, name: string, { namespace = 'default' }: TraceOptions = {}): Promise<string> {
    const client = this.#controlPlane.clientAs(administrator.username, administrator.groups)
    const resource = await this.#time.runUntil(findResource(client, kind))
    if (resource === undefined) throw new TypeError(`unknown kind: ${kind}`)
    const object = { resource, name, ...(resource.scope === 'Namespaced' && { namespace }) }
    const [{ collectTrace }, { formatTrace }] = await Promise.all([
      import('#/trace/collect-trace.ts'),
      import('#/trace/format-trace.ts'),
    ])
    const trace = await this.#time.runUntil(collectTrace(client, object))
    if (trace === undefined) throw new Error(`no change of ${resource.singular} ${name} is recorded`)
    return formatTrace(trace)
  }

  /** Resolves when all resources are released. */
  stop(): Promise<void> {
    this.#stopped ??= this.#resources.stop()
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(nodes: readonly SimulatedNodeOptions[]): Promise<void> {
    this.#resources.started.defer(() => this.#controlPlane.stop())
    this.#resources.started.defer(async () => {
      await this.#programs.stop()
      this.#programs.throwFailure()
    })
    this.#controlPlane.start()
    for (const node of nodes) this.startNode(node)
    await this.settle()
  }
}

async function loadRealTime(): Promise<TestTime> {
  const { realTime } = await import('./time/real-time.ts')
  return realTime()
}

interface ServerOptions {
  readonly plugins: readonly string[]
  readonly history: HistoryLog
  readonly simulated: KubeletAccess['simulated']
}

async function startServer(
  { platform, connectHttp }: TestTime,
  store: Store,
  { plugins, history, simulated }: ServerOptions,
): Promise<ApiServer> {
  const admission = await readAdmission(platform.files, {
    enable: ['NodeRestriction', ...plugins],
    disable: ['ServiceAccount'],
  })
  return ApiServer.start({
    platform,
    store,
    admission,
    history: { log: history },
    build: { version: '0.0.0' },
    kubelets: { connectHttp: connectHttp ?? unreachable, tls: () => ({}), simulated },
    ...(connectHttp && { connectHttp }),
  })
}

/** There is no network in virtual time. */
const unreachable: HttpConnect = ({ origin }) => {
  const fail = (): Promise<never> => {
    const message = `cannot connect to ${origin} in virtual time`
    return Promise.reject(new HttpClientError('unreachable', message, { sent: false }))
  }
  return {
    request: fail,
    upgrade: fail,
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** For callers without type checking. */
function requireOneOf(name: string, value: string, allowed: readonly string[]): void {
  if (allowed.includes(value)) return
  throw new TypeError(`${name} must be '${allowed.join("' or '")}', not '${value}'`)
}

function milliseconds(time: number | string): number {
  const ms = typeof time === 'number' ? time : tryParseDurationMs(time)
  if (ms === undefined || !(ms >= 0)) throw new TypeError(`invalid duration: ${time}`)
  return ms
}

/** Running and stopped nodes of a cluster, by name. */
class SimulatedNodes {
  readonly #controlPlane: Pick<ControlPlane, 'startNode' | 'stopNode'>
  readonly #shapes = new Map<string, NodeShape>()
  readonly #running = new Set<string>()

  constructor(controlPlane: Pick<ControlPlane, 'startNode' | 'stopNode'>) {
    this.#controlPlane = controlPlane
  }

  start(options: SimulatedNodeOptions): string {
    const known = this.#shapes.get(options.name ?? '')
    const node = known === undefined ? this.#make(options) : { ...known, ...options }
    const { name } = node
    if (this.#running.has(name)) throw new Error(`node ${name} is already running`)
    this.#shapes.set(name, node)
    this.#running.add(name)
    this.#controlPlane.startNode(node)
    return name
  }

  async stop(name: string): Promise<void> {
    if (!this.#running.delete(name)) throw new Error(`node ${name} is not running`)
    await this.#controlPlane.stopNode(name)
  }

  /** Avoids generated names that collide with a chosen one. */
  #make(options: SimulatedNodeOptions): NodeShape {
    const node = simulatedNode(this.#shapes.size, options)
    if (!this.#shapes.has(node.name)) return node
    for (let number = this.#shapes.size + 1; ; number++) {
      const name = `node-${number}`
      if (!this.#shapes.has(name)) return { ...node, name }
    }
  }
}
