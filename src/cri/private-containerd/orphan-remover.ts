import { join } from 'node:path/posix'
import { message } from '#/base/protobuf.ts'
import type { GrpcChannel } from '#/platform/grpc.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { runcStateFolder } from './configuration.ts'
import { isContainerd } from './containerd-process.ts'
import { planOrphans, type KnownContainers, type FirstSeen, type RuntimeRemains } from './plan-orphans.ts'
import { bundlesFolder, findShims, shimSocket, textOf, type Shim } from './shims.ts'

export interface OrphanRemoverOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly folder: string
  readonly socketPath: string
}

/** Removes shims, bundles and network namespaces left behind by a killed containerd. */
export class OrphanRemover {
  readonly #options: OrphanRemoverOptions
  #firstSeen: FirstSeen = new Map()

  constructor(options: OrphanRemoverOptions) {
    this.#options = options
  }

  /** Removes orphans older than `graceMs`. The channel connects to the current containerd. */
  async sweep(channel: GrpcChannel, graceMs: number, signal?: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    // Remains are read before known containers, so that a container created in between is not taken for an
    // orphan.
    const remains = await this.#remains()
    const known = await knownContainers(channel, signal)
    const nowMs = clock.monotonicMs()
    const { remove, firstSeen } = planOrphans(remains, known, {
      before: this.#firstSeen,
      nowMs,
      graceMs,
    })
    this.#firstSeen = firstSeen
    const counts = [remove.shims.length, remove.bundles.length, remove.networks.length]
    if (counts.every(count => count === 0)) return
    log.info('Removing orphaned shims, bundles and network namespaces', { ...remove })
    for (const shim of remove.shims) await this.#removeShim(shim)
    for (const id of remove.bundles) await this.#removeBundle(id)
    for (const name of remove.networks) await this.#removeNetwork(name)
  }

  async #remains(): Promise<RuntimeRemains> {
    return {
      shims: await findShims(this.#options),
      bundles: await this.#list(this.#bundles),
      networks: (await this.#list(this.#networks)).filter(name => name.startsWith('cni-')),
    }
  }

  get #bundles(): string {
    return bundlesFolder(this.#options.folder)
  }

  get #networks(): string {
    return join(this.#options.folder, 'state/io.containerd.grpc.v1.cri/netns')
  }

  /** Also kills the shim's child processes, which nothing else would end. */
  async #removeShim({ pid, id }: Shim): Promise<void> {
    const { platform, linux, folder } = this.#options
    const children = (await textOf(platform.files, `/proc/${pid}/task/${pid}/children`))
      .split(' ')
      .filter(Boolean)
    // Ignores processes that have exited already.
    await linux.run(['sh', '-c', `kill -9 ${[pid, ...children].join(' ')} || :`])
    const root = runcStateFolder(folder)
    if (await platform.files.stat(join(root, id)))
      await linux.run(['runc', '--root', root, 'delete', '--force', id]).catch(() => undefined)
  }

  async #removeBundle(id: string): Promise<void> {
    const { platform, linux, folder } = this.#options
    const bundle = join(this.#bundles, id)
    const socket = await shimSocket(platform.files, bundle)
    if (socket !== undefined) await platform.files.remove(socket)
    await linux.mounts.unmount(join(bundle, 'rootfs'))
    await platform.files.remove(bundle)
    await platform.files.remove(join(folder, 'root/io.containerd.runtime.v2.task/k8s.io', id))
  }

  async #removeNetwork(name: string): Promise<void> {
    const path = join(this.#networks, name)
    await this.#options.linux.mounts.unmount(path)
    await this.#options.platform.files.remove(path)
  }

  async #list(folder: string): Promise<readonly string[]> {
    return this.#options.platform.files.list(folder).catch(() => [])
  }
}

const ListContainersResponse = message({ containers: [1, message({ id: [1, 'string'] }), 'repeated'] })

/** Uses containerd's own API, because CRI does not list pods in creation. */
async function knownContainers(channel: GrpcChannel, signal?: AbortSignal): Promise<KnownContainers> {
  const answer = await channel.unary('/containerd.services.containers.v1.Containers/List', new Uint8Array(), {
    timeoutMs: listTimeoutMs,
    metadata: { 'containerd-namespace': 'k8s.io' },
    ...(signal && { signal }),
  })
  const { containers } = ListContainersResponse.decode(answer)
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength)
  return { ids: new Set(containers.map(({ id }) => id)), mentions: text => bytes.includes(text) }
}

const listTimeoutMs = 60_000

/**
 * Kills a containerd left by a previous process. It still locks the database in the directory, and a new containerd
 * would wait for it forever. Its containers keep running.
 */
export async function killOrphanedContainerd(
  platform: Platform,
  linux: Pick<Linux, 'run'>,
  folder: string,
): Promise<void> {
  const { files, clock, log } = platform
  const pid = Number((await textOf(files, join(folder, 'containerd.pid'))) || 0)
  const isAlive = (): Promise<boolean> => isContainerd(platform, pid, folder)
  if (!(await isAlive())) return
  log.info('Killing containerd left by a previous process', { pid, folder })
  await linux.run(['sh', '-c', `kill -9 ${pid}`])
  for (let attempt = 0; attempt < attemptsMax && (await isAlive()); attempt++) await clock.sleep(attemptMs)
}

const attemptMs = 20
const attemptsMax = 250
