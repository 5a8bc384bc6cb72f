/**
 * Makes failures to write the rules of services visible: in the log, as Events on the Node, and in the output of
 * `k8ts status`. A failure that repeats is reported with growing pauses.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { messageOf } from '#/base/message-of.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { ProxyMode } from './proxier.ts'

export interface SyncStatus {
  readonly mode: ProxyMode
  /** Why the mode nftables is not used although it is chosen. */
  readonly fallback?: string
  /** Why the rules of services cannot be written. */
  readonly failure?: string
}

export interface SyncReporterOptions {
  readonly platform: Platform
  readonly client: Client
  readonly nodeName: string
}

/** A first failure is often passing: the machine is loaded, or another program holds a lock. */
const failuresReportedMin = 2

/** Error messages of programs may contain their whole input. */
const messageCharactersMax = 600

export class SyncReporter {
  readonly #log: ThrottledLog
  readonly #recorder: EventRecorder
  readonly #nodeName: string
  #node: Node | undefined
  #failures = 0
  #failure: string | undefined
  #fallback: string | undefined

  constructor({ platform, client, nodeName }: SyncReporterOptions) {
    this.#log = new ThrottledLog(platform)
    this.#nodeName = nodeName
    this.#recorder = new EventRecorder({ platform, client, component: 'kube-proxy', host: nodeName })
  }

  /** Writes Events until aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#recorder.run(signal)
  }

  get status(): Omit<SyncStatus, 'mode'> {
    return {
      ...(this.#fallback !== undefined && { fallback: this.#fallback }),
      ...(this.#failure !== undefined && { failure: this.#failure }),
    }
  }

  setNode(node: Node | undefined): void {
    this.#node = node
  }

  fellBack(reason: string): void {
    this.#fallback = reason
    this.#log.warn('fallback', 'Using the proxy mode iptables', { reason })
    const message =
      `${reason}: services are handled in the proxy mode iptables. ${remedyOfNft} and restart the ` +
      'service proxy to use nftables, or choose --proxy-mode iptables'
    this.#recorder.record(this.#about, { type: 'Warning', reason: 'ProxyModeFallback', message })
  }

  failed(error: unknown, mode: ProxyMode): void {
    this.#failures++
    const message = messageOf(error).slice(0, messageCharactersMax)
    this.#failure = message
    this.#log.error('sync', 'Failed to sync the rules of services', { mode, error, failures: this.#failures })
    if (this.#failures < failuresReportedMin || !isPowerOfTwo(this.#failures)) return
    this.#recorder.record(this.#about, {
      type: 'Warning',
      reason: 'FailedToSyncServices',
      message:
        `Failed to write the ${mode} rules of services, their changes have no effect on this node: ` +
        `${message}. ${remedies[mode]}`,
    })
  }

  succeeded(): void {
    const wasReported = this.#failures >= failuresReportedMin
    this.#failures = 0
    this.#failure = undefined
    if (!wasReported) return
    const message = 'The rules of all services are written again'
    this.#recorder.record(this.#about, { type: 'Normal', reason: 'ServicesSynced', message })
  }

  /** The kubelet's Events on its Node have its name as UID, too; `kubectl describe node` shows them. */
  get #about(): KubernetesObject {
    const name = this.#node?.metadata.name ?? this.#nodeName
    return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name } }
  }
}

const remedyOfNft = 'Install a newer nftables'

const remedies: Readonly<Record<ProxyMode, string>> = {
  nftables: 'Check that `nft list ruleset` works on the node, or choose --proxy-mode iptables',
  iptables: 'Check that `iptables-save` works on the node, or choose --proxy-mode nftables',
  userspace: 'Check that `iptables-save` works on the node, or choose --proxy-mode nftables',
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0
}
