/**
 * The further nodes of a cluster on this machine, as their records say: starts and removes them when records change.
 */
import { join } from 'node:path'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import type { ClusterNetwork } from '#/network/cluster-network.ts'
import type { CertificateAuthority } from '#/kubeadm/certificates.ts'
import { dnsServer, kubeProxy, nodeIdentity } from '#/kubeadm/identities.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { NamespacedNode, removeNamespacedNode, type NodeCredentialsRequest } from './namespaced-node.ts'
import { nodesFolder, planNodeRecord, readNodeRecords, writeNodeRecord } from './node-records.ts'
import type { EndSignal } from './supervised-process.ts'

export interface NamespacedNodesOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly crypto: Crypto
  /** Folder of the cluster. */
  readonly folder: string
  readonly network: ClusterNetwork
  readonly ca: CertificateAuthority
  /** URL of the API server at the address of the first node. */
  readonly server: string
  /** The command that runs this program. */
  readonly program: readonly string[]
  /** Flags of `k8ts node run` for all nodes. */
  readonly flags: readonly string[]
}

const retry: Backoff = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0.1 }

export class NamespacedNodes {
  readonly #options: NamespacedNodesOptions
  readonly #nodes = new Map<string, NamespacedNode>()
  readonly #stopping = new AbortController()
  /** Syncs run one after the other. */
  #syncing: Promise<void> = Promise.resolve()
  #following: Promise<void> = Promise.resolve()

  constructor(options: NamespacedNodesOptions) {
    this.#options = options
  }

  /** Records nodes until the cluster has this many, the first one included; resolves when all are being started. */
  async start(count: number, firstName: string): Promise<void> {
    const { platform, folder } = this.#options
    const records = [...(await readNodeRecords(platform.files, folder))]
    for (let number = 2; records.filter(({ isRemoved }) => !isRemoved).length < count - 1; number++) {
      const name = `${firstName}-${number}`
      if (records.some(record => record.name === name)) continue
      const record = planNodeRecord(records, name)
      await writeNodeRecord(platform.files, folder, record)
      records.push(record)
    }
    await platform.files.makeFolder(nodesFolder(folder), { mode: 0o700 })
    this.#following = this.#followRecords()
    await this.#sync()
  }

  /** Number of nodes that run. */
  get size(): number {
    return this.#nodes.size
  }

  /** Stops the nodes, with their containers unless they hand over. */
  async stop(signal: EndSignal): Promise<void> {
    this.#stopping.abort()
    await this.#following
    await this.#syncing
    await Promise.all([...this.#nodes.values()].map(node => node.stop(signal)))
  }

  async #followRecords(): Promise<void> {
    const { linux, folder, platform } = this.#options
    const { signal } = this.#stopping
    try {
      for await (const name of linux.files.watch(nodesFolder(folder), signal))
        if (name?.endsWith('.json')) await this.#sync()
    } catch (error) {
      if (!signal.aborted) platform.log.error('Failed to watch the node records', { error })
    }
  }

  #sync(): Promise<void> {
    this.#syncing = this.#syncing.then(() => this.#syncWithRetries())
    return this.#syncing
  }

  async #syncWithRetries(): Promise<void> {
    const { clock, log, random } = this.#options.platform
    const { signal } = this.#stopping
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await this.#syncOnce()
      } catch (error) {
        log.error('Failed to sync the nodes of this machine, will retry', { error })
        await clock.sleep(backoffMs(failures, retry, random.fraction('nodes')), signal).catch(() => undefined)
      }
    }
  }

  async #syncOnce(): Promise<void> {
    const { platform, folder } = this.#options
    for (const record of await readNodeRecords(platform.files, folder)) {
      if (this.#stopping.signal.aborted) return
      const running = this.#nodes.get(record.name)
      if (record.isRemoved) {
        await running?.stop('SIGTERM')
        this.#nodes.delete(record.name)
        await removeNamespacedNode(this.#options, record)
      } else if (running === undefined) {
        const issueCredentials = (node: NodeCredentialsRequest): Promise<void> => this.#issueCredentials(node)
        const node = new NamespacedNode({ ...this.#options, record, issueCredentials })
        this.#nodes.set(record.name, node)
        node.start()
      }
    }
  }

  /** The kubelet rotates its certificate itself, but the address of the server may have changed. */
  async #issueCredentials({ name, folder }: NodeCredentialsRequest): Promise<void> {
    const { platform, crypto, ca, server } = this.#options
    const { files } = platform
    await files.makeFolder(join(folder, 'pki'), { mode: 0o700 })
    await files.write(join(folder, 'pki/ca.crt'), ca.cert)
    const identities = {
      'kubelet.conf': nodeIdentity(name),
      'kube-proxy.conf': kubeProxy,
      'dns.conf': dnsServer,
    }
    for (const [file, identity] of Object.entries(identities))
      await ensureKubeconfigFile({ platform, crypto, path: join(folder, file), ca, server, identity })
  }
}
