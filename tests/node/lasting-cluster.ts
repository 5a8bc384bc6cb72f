/**
 * `k8ts up` with real containers on a folder that is kept between starts: it can be killed, stopped and
 * restarted, and its state on the machine can be checked in between. Everything is removed when the test
 * ends.
 */
import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual, promisify } from 'node:util'
import type { TestContext } from 'node:test'
import { Exec, KubeConfig, type V1Status } from '@kubernetes/client-node'
import type { Pod } from '#/api/generated/core/v1.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { nodeFolders, type NodeFolders } from '#/cluster/node-folders.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import { ChildCluster } from '../clients/cluster.ts'
import { loadImages, program } from './container-cluster.ts'

/** Timeout of waits, generous for slow machines. */
const waitMsMax = 120_000
const lookMs = 200

const namespace = 'default'

export class LastingCluster {
  readonly folder: string
  readonly folders: NodeFolders
  readonly flags: readonly string[]
  #child: ChildCluster | undefined
  #client: Client | undefined
  #connection = new AsyncDisposableStack()
  #port = 0

  private constructor(folder: string, flags: readonly string[]) {
    this.folder = folder
    this.folders = nodeFolders(folder)
    this.flags = flags
  }

  /** Starts a cluster with the images of `container-cluster.ts`. A given folder is removed, too. */
  static async start(
    t: Pick<TestContext, 'after'>,
    options: { readonly folder?: string; readonly flags?: readonly string[] } = {},
  ): Promise<LastingCluster> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'k8ts-lasting-')))
    const cluster = new LastingCluster(folder, options.flags ?? [])
    t.after(async () => {
      await cluster.kill()
      await cluster.down()
    })
    await cluster.start()
    await loadImages(folder)
    return cluster
  }

  get client(): Client {
    return this.#client!
  }

  /** PID of k8ts. */
  get processId(): number {
    return this.#child!.processId
  }

  /** Output of k8ts since its last start. */
  get output(): string {
    return this.#child!.output
  }

  /** Resolves when it is ready. It listens on the same port as before. */
  async start(): Promise<void> {
    const { folder, flags } = this
    this.#child = await ChildCluster.start({ folder, port: this.#port, containers: true, flags })
    this.#port = this.#child.port
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    const sources = { environment: {}, workingFolder: '/', explicitPath: this.#child.kubeconfig }
    const settings = settingsOf(await loadKubeconfig(platform, sources))!
    const transport = await openConnection({ platform, connect: connectHttp, settings })
    this.#connection.use(transport)
    this.#client = clientOf({ platform, transport, userAgent: 'test' })
  }

  /** Kills k8ts with SIGKILL; containers keep running. */
  async kill(): Promise<void> {
    await this.#disconnect()
    await this.#child?.kill()
  }

  /** Stops it with SIGTERM. Rejects when it does not exit in time or exits with an error. */
  async stop(): Promise<void> {
    await this.#disconnect()
    await this.#child?.[Symbol.asyncDispose]()
  }

  /** Removes the cluster completely. */
  async down(): Promise<void> {
    await promisify(execFile)(program, ['down', '--data-dir', this.folder])
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.client.listAll(pods, { namespace })).items
  }

  async pod(name: string): Promise<Pod> {
    return this.client.get(pods, { namespace, name })
  }

  /** Waits until the pods satisfy a condition. Fails with their last state. */
  async until(fits: (all: readonly Pod[]) => boolean): Promise<readonly Pod[]> {
    const giveUp = Date.now() + waitMsMax
    for (;;) {
      const all = await this.pods()
      if (fits(all)) return all
      if (Date.now() > giveUp) throw new Error(`pods never came so far:\n${all.map(describePod).join('\n')}`)
      await new Promise(resolve => setTimeout(resolve, lookMs))
    }
  }

  /** Waits until exactly these pods exist and are ready. */
  async untilReady(names: readonly string[]): Promise<readonly Pod[]> {
    const wanted = names.toSorted()
    return this.until(all => {
      const found = all.map(({ metadata }) => metadata.name ?? '').toSorted()
      return isDeepStrictEqual(found, wanted) && all.every(isReady)
    })
  }

  /** `Reason: message`, in order. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.client.listAll(events, {
      namespace,
      fieldSelector: `involvedObject.name=${name}`,
    })
    return items.map(({ reason, message }) => `${reason}: ${message}`)
  }

  /** Runs a command in the container `main` and resolves when it has succeeded. */
  async exec(name: string, command: string[]): Promise<void> {
    const config = new KubeConfig()
    config.loadFromFile(join(this.folder, 'admin.conf'))
    const status = Promise.withResolvers<V1Status>()
    const output = new PassThrough().resume()
    const run = [namespace, name, 'main', command, output, output, null, false, status.resolve] as const
    // The client rejects with the `ErrorEvent` of the WebSocket.
    const socket = await new Exec(config).exec(...run).catch(({ message }: { readonly message: string }) => {
      throw new Error(message)
    })
    socket.addEventListener('close', () => status.resolve({ status: 'closed' }))
    const ended = await status.promise
    if (ended.status !== 'Success') throw new Error(`exec in ${name}: ${JSON.stringify(ended)}`)
  }

  async log(name: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`
    const response = await this.client.raw({ method: 'GET', path })
    return text(response.bytes())
  }

  async #disconnect(): Promise<void> {
    await this.#connection.disposeAsync()
    this.#connection = new AsyncDisposableStack()
  }
}

export function isReady({ status, metadata }: Pod): boolean {
  const isSaid = status?.conditions?.some(each => each.type === 'Ready' && each.status === 'True') ?? false
  return isSaid && metadata.deletionTimestamp === undefined
}

function describePod({ metadata, status }: Pod): string {
  const containers = status?.containerStatuses?.map(({ state, restartCount }) => {
    return `${restartCount} ${JSON.stringify(state)}`
  })
  const isGoing = metadata.deletionTimestamp === undefined ? '' : ' is being deleted'
  return `${metadata.name}: ${status?.phase}${isGoing} ${containers?.join()}`
}
