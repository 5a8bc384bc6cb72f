import { isApiError } from '#/api/errors.ts'
import { daemonSets, deployments, replicaSets, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import { namespaces, nodes, pods, resourceQuotas, services } from '#/api/generated/core/v1-resources.ts'
import { controllerOf } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { TransportError } from '#/client/transport.ts'
import type { Random } from '#/platform/platform.ts'
import { workloadOf, type Workload } from './workloads.ts'

/** Two namespaces; the second one is created and deleted, and has a quota. */
const namespaceNames = ['default', 'other']
const names = ['a', 'b', 'c']

const policies = ['Background', 'Foreground', 'Orphan'] as const

/** Workload kinds that users create; duplicates increase the probability. */
const kinds = [
  deployments,
  deployments,
  replicaSets,
  statefulSets,
  daemonSets,
  jobs,
] as unknown as readonly Resource<Workload>[]

/** Duplicates increase the probability. */
const verbs = [
  'create',
  'create',
  'create',
  'create',
  'scale',
  'scale',
  'image',
  'image',
  'delete',
  'serve',
  'space',
  'remove a pod',
  'cordon',
] as const

type Verb = (typeof verbs)[number]

/** Verbs that act on an existing workload. */
const changing: ReadonlySet<Verb> = new Set(['scale', 'image', 'delete', 'serve'])

interface Chosen {
  readonly kind: Resource<Workload>
  readonly at: Place
}

interface Place {
  readonly namespace: string
  readonly name: string
}

/** Users that create, change and delete workloads at random. */
export class Users {
  readonly #client: Client
  readonly #random: Random

  constructor(client: Client, random: Random) {
    this.#client = client
    this.#random = random
  }

  /** Performs a random action and returns its description. API and transport errors are ignored. */
  async act(): Promise<string> {
    const verb = this.#pick('verb', verbs)
    let text = `user: ${verb}`
    try {
      const { kind, at } = changing.has(verb) ? await this.#findWorkload() : this.#anyWorkload()
      text = `${text} ${kind.plural} ${at.namespace}/${at.name}`
      await this.#perform(verb, kind, at)
      return text
    } catch (error) {
      if (isApiError(error) || error instanceof TransportError) return `${text}: ${error.reason}`
      throw error
    }
  }

  /** Uncordons all nodes. Throws on failure. */
  async uncordon(): Promise<void> {
    const { items } = await this.#client.listAll(nodes)
    for (const { metadata, spec } of items)
      if (spec?.unschedulable) await this.#setCordon(metadata.name, false)
  }

  #anyWorkload(): Chosen {
    const at = { namespace: this.#pick('namespace', namespaceNames), name: this.#pick('name', names) }
    return { kind: this.#pick('kind', kinds), at }
  }

  /** An existing workload if there is one, otherwise a random one. */
  async #findWorkload(): Promise<Chosen> {
    const lists = await Promise.all(
      kinds.map(async kind => {
        const { items } = await this.#client.listAll(kind)
        return items.filter(isMadeByUser).map(({ metadata }): Chosen => {
          return { kind, at: { namespace: metadata.namespace ?? '', name: metadata.name } }
        })
      }),
    )
    const there = lists.flat()
    return there.length === 0 ? this.#anyWorkload() : this.#pick('workload', there)
  }

  async #perform(verb: Verb, kind: Resource<Workload>, at: Place): Promise<unknown> {
    switch (verb) {
      case 'create':
        return this.#client.create(kind, workloadOf(kind, at, this.#random))
      case 'scale':
        return this.#change(kind, at, { replicas: this.#random.integer('replicas', 6) })
      case 'image':
        return this.#change(kind, at, {
          template: {
            spec: { containers: [{ name: 'main', image: `image-${this.#random.integer('image', 5)}` }] },
          },
        })
      case 'delete':
        return this.#client.delete(kind, at, { propagationPolicy: this.#pick('policy', policies) })
      case 'serve':
        return this.#serve(kind, at)
      case 'remove a pod':
        return this.#removePod(at.namespace)
      case 'cordon':
        return this.#cordon()
      case 'space':
        return this.#changeNamespaces()
    }
  }

  async #change(kind: Resource<Workload>, at: Place, spec: object): Promise<unknown> {
    if (kind.plural === 'jobs' || (kind.plural === 'daemonsets' && 'replicas' in spec)) return undefined
    return this.#client.patch(kind, at, { type: 'strategic', patch: { spec } })
  }

  async #changeNamespaces(): Promise<unknown> {
    const name = 'other'
    const exists = await this.#client.find(namespaces, { name })
    if (exists) return this.#client.delete(namespaces, { name })
    await this.#client.create(namespaces, { metadata: { name } })
    const quota = { metadata: { namespace: name, name: 'quota' }, spec: { hard: { pods: '4' } } }
    return this.#client.create(resourceQuotas, quota)
  }

  /** Creates the service of a workload, or deletes it. */
  async #serve(kind: Resource<Workload>, at: Place): Promise<unknown> {
    const name = `${kind.singular}-${at.name}`
    const exists = await this.#client.find(services, { ...at, name })
    if (exists) return this.#client.delete(services, { ...at, name })
    const spec = { selector: { app: name }, ports: [{ port: 80 }] }
    return this.#client.create(services, { metadata: { ...at, name }, spec })
  }

  async #removePod(namespace: string): Promise<unknown> {
    const { items } = await this.#client.listAll(pods, { namespace })
    if (items.length === 0) return undefined
    const { name } = this.#pick('pod', items).metadata
    return this.#client.delete(pods, { namespace, name })
  }

  async #cordon(): Promise<unknown> {
    const { items } = await this.#client.listAll(nodes)
    if (items.length === 0) return undefined
    const { metadata, spec } = this.#pick('node', items)
    return this.#setCordon(metadata.name, !spec?.unschedulable)
  }

  #setCordon(name: string, unschedulable: boolean): Promise<unknown> {
    return this.#client.patch(nodes, { name }, { type: 'merge', patch: { spec: { unschedulable } } })
  }

  #pick<T>(label: string, values: readonly T[]): T {
    return values[this.#random.integer(label, values.length)]!
  }
}

/** Users do not change ReplicaSets that belong to a Deployment. */
function isMadeByUser(workload: Workload): boolean {
  return controllerOf(workload) === undefined
}
