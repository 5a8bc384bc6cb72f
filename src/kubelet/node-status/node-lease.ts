/** Node heartbeat: renews the node's lease. */
import { isApiError } from '#/api/errors.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatMicroTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { Clock } from '#/platform/platform.ts'

const namespace = 'kube-node-lease'
export interface NodeLeaseOptions {
  readonly client: Client
  readonly clock: Clock
  readonly name: string
  /** That of Kubernetes when absent. */
  readonly durationSeconds?: number
}

const usualDurationSeconds = 40

export class NodeLease {
  readonly #options: NodeLeaseOptions
  /** As last written; undefined if unknown. */
  #lease: Stored<Lease> | undefined

  constructor(options: NodeLeaseOptions) {
    this.#options = options
  }

  /** A quarter of the lease duration; also the timeout of a renewal. */
  get renewalMs(): number {
    return (this.#options.durationSeconds ?? usualDurationSeconds) * 250
  }

  /** Once the node is registered it owns the lease, so that both are deleted together. */
  async renew(node: Stored<Node> | undefined, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(node, signal)
    } catch (error) {
      this.#lease = undefined
      // The lease was changed or deleted by another client: read it again.
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'NotFound')) throw error
      await this.#write(node, signal)
    }
  }

  async #write(node: Stored<Node> | undefined, signal: AbortSignal): Promise<void> {
    const { client, name } = this.#options
    const options = { signal, timeoutMs: this.renewalMs }
    const known = this.#lease ?? (await client.find(leases, { namespace, name }, options))
    const wanted = this.#wanted(known, node)
    this.#lease = await (known === undefined
      ? client.create(leases, wanted, options)
      : client.update(leases, wanted, options))
  }

  #wanted(known: Stored<Lease> | undefined, node: Stored<Node> | undefined): Lease {
    const { name, clock, durationSeconds = usualDurationSeconds } = this.#options
    const { uid } = node?.metadata ?? {}
    const ownerReferences = uid === undefined ? [] : [{ apiVersion: 'v1', kind: 'Node', name, uid }]
    return {
      ...known,
      metadata: {
        ...known?.metadata,
        namespace,
        name,
        ...(ownerReferences.length > 0 && { ownerReferences }),
      },
      spec: {
        holderIdentity: name,
        leaseDurationSeconds: durationSeconds,
        renewTime: formatMicroTime(clock.now()),
      },
    }
  }
}
