import { isApiError } from '#/api/errors.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Random } from '#/platform/platform.ts'
import { gpuName } from './node-capacity.ts'

const zones = ['a', 'b']

/** Random users that create and delete nodes and pods. `tidy` acts as kubelet and pod garbage collector. */
export class Users {
  readonly #client: Client
  readonly #random: Random
  #count = 0

  constructor(client: Client, random: Random) {
    this.#client = client
    this.#random = random
  }

  /** Performs a random action and returns its description. */
  async act(): Promise<string> {
    const draw = this.#random.integer('what users do', 20)
    if (draw < 9) return this.#createPods(1 + this.#below(4))
    if (draw < 12) return this.#createNode()
    if (draw < 14) return this.#deleteNode()
    if (draw < 16) return this.#cordon()
    return draw < 18 ? this.#openGates() : this.#deletePod()
  }

  async createNodes(count: number): Promise<void> {
    for (let made = 0; made < count; made++) await this.#createNode()
  }

  /** Completes the deletion of terminating pods and of pods on deleted nodes. */
  async tidy(): Promise<void> {
    const { items } = await this.#client.list(pods)
    const { items: there } = await this.#client.list(nodes)
    const names = new Set(there.map(({ metadata }) => metadata.name))
    for (const pod of items) {
      const node = pod.spec?.nodeName
      if (!isBeingDeleted(pod) && (!node || names.has(node))) continue
      await this.#unlessGone(this.#client.delete(pods, at(pod), { gracePeriodSeconds: 0 }))
    }
  }

  /** Removes all scheduling gates. */
  async openAll(): Promise<void> {
    for (const pod of (await this.#client.list(pods)).items) await this.#open(pod)
  }

  /** Created concurrently, so that a pod is scheduled while another is being bound. */
  async #createPods(count: number): Promise<string> {
    const made = await Promise.all(Array.from({ length: count }, () => this.#createPod()))
    return made.join(', ')
  }

  async #createPod(): Promise<string> {
    const name = `pod-${this.#count++}`
    const requests = {
      ...(this.#oneIn(5) ? {} : { cpu: `${1 + this.#below(2)}` }),
      ...(this.#oneIn(6) && { [gpuName]: '1' }),
    }
    const ports = this.#oneIn(6) ? [{ containerPort: 80, hostPort: 8_000 + this.#below(2) }] : []
    await this.#client.create(pods, {
      metadata: { namespace: 'default', name },
      spec: {
        containers: [{ name: 'c', image: 'i', ports, resources: { requests, limits: gpuOf(requests) } }],
        priority: this.#oneIn(4) ? 10 : 0,
        ...(this.#oneIn(4) && { nodeSelector: { zone: this.#pick(zones) } }),
        ...(this.#oneIn(8) && { schedulingGates: [{ name: 'example.com/wait' }] }),
      },
    })
    return `create ${name}`
  }

  async #createNode(): Promise<string> {
    const name = `node-${this.#count++}`
    const table = {
      cpu: `${1 + this.#below(4)}`,
      pods: `${2 + this.#below(4)}`,
      ...(this.#oneIn(2) && { [gpuName]: '1' }),
    }
    await this.#client.create(nodes, {
      metadata: {
        name,
        labels: { 'zone': this.#pick(zones), 'topology.kubernetes.io/zone': this.#pick(zones) },
      },
      status: { allocatable: table, capacity: table },
    })
    return `create ${name}`
  }

  async #deleteNode(): Promise<string> {
    const node = this.#oneOf((await this.#client.list(nodes)).items)
    if (node === undefined) return 'no node to delete'
    await this.#unlessGone(this.#client.delete(nodes, at(node)))
    return `delete ${node.metadata.name}`
  }

  async #cordon(): Promise<string> {
    const node = this.#oneOf((await this.#client.list(nodes)).items)
    if (node === undefined) return 'no node to cordon'
    const unschedulable = !node.spec?.unschedulable
    await this.#client.patch(nodes, at(node), { type: 'merge', patch: { spec: { unschedulable } } })
    return `${unschedulable ? 'cordon' : 'uncordon'} ${node.metadata.name}`
  }

  async #openGates(): Promise<string> {
    const { items } = await this.#client.list(pods)
    const gated = items.find(({ spec }) => spec?.schedulingGates?.length)
    if (gated === undefined) return 'no gates to open'
    await this.#open(gated)
    return `open gates of ${gated.metadata.name}`
  }

  async #open(pod: Stored<Pod>): Promise<void> {
    if (!pod.spec?.schedulingGates?.length) return
    const patch = { spec: { schedulingGates: null } }
    await this.#unlessGone(this.#client.patch(pods, at(pod), { type: 'merge', patch }))
  }

  async #deletePod(): Promise<string> {
    const pod = this.#oneOf((await this.#client.list(pods)).items)
    if (pod === undefined) return 'no pod to delete'
    await this.#unlessGone(
      this.#client.delete(pods, at(pod), { gracePeriodSeconds: this.#oneIn(2) ? 0 : 30 }),
    )
    return `delete ${pod.metadata.name}`
  }

  #oneOf<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : items[this.#below(items.length)]
  }

  /** Ignores objects that are already deleted. */
  async #unlessGone(promise: Promise<unknown>): Promise<void> {
    await promise.catch((error: unknown) => {
      if (!isApiError(error, 'NotFound')) throw error
    })
  }

  #below(count: number): number {
    return this.#random.integer('choice of users', count)
  }

  #oneIn(count: number): boolean {
    return this.#below(count) === 0
  }

  #pick(words: readonly string[]): string {
    return words[this.#below(words.length)]!
  }
}

function at({ metadata }: Stored<Node> | Stored<Pod>): {
  readonly namespace?: string
  readonly name: string
} {
  const name = metadata.name
  return metadata.namespace ? { namespace: metadata.namespace, name } : { name }
}

function gpuOf(requests: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return requests[gpuName] === undefined ? {} : { [gpuName]: requests[gpuName] }
}
