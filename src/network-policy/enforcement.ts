/**
 * The enforcement of network policies on a node while there are any: follows pods and namespaces, plans, and writes
 * the tables.
 */
import type { NetworkPolicy } from '#/api/generated/networking/v1.ts'
import type { Namespace, Pod } from '#/api/generated/core/v1.ts'
import { namespaces, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import { NftablesTables } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KnownAddresses } from './known-addresses.ts'
import type { EnforcedPolicies } from './network-policy-metrics.ts'
import { PolicyPlan } from './plan.ts'
import { baseRules } from './base-rules.ts'
import { dnsFacts, dnsSlices, podFacts } from './pod-facts.ts'

export interface EnforcementOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'run'>
  readonly client: Client
  readonly nodeName: string
  /** Name of the tables. */
  readonly table: string
  readonly families: readonly IpFamily[]
  readonly policies: Informer<NetworkPolicy>
  readonly known: KnownAddresses
  /** Called with the key of a policy whose namespace has too many peers, and how many of its selectors are ignored. */
  readonly onExcluded: (policy: string, selectors: number) => void
  /** Called when there is something to write. */
  readonly onChange: () => void
}

/** Time of planning before other work of the process gets its turn. */
const sliceMs = 10

/** Time for the first lists, after which an event of the node tells that policies are not in force. */
const readMsMax = 30_000

/** Excludes pods that no policy concerns. */
const concernedPods = 'spec.hostNetwork=false,status.phase!=Succeeded,status.phase!=Failed'

export class Enforcement implements AsyncDisposable {
  readonly #options: EnforcementOptions
  readonly #informers: Informers
  readonly #pods: Informer<Pod>
  readonly #namespaces: Informer<Namespace>
  readonly #plan = new PolicyPlan()
  readonly #tables: NftablesTables
  readonly #stopping = new AbortController()
  readonly #removeHandler: () => void
  /** Keys of changed objects. */
  readonly #changed = {
    policies: new Set<string>(),
    pods: new Set<string>(),
    namespaces: new Set<string>(),
  }
  readonly #objectCounts = new Map<string, number>()
  #objects = 0
  #running: Promise<void> | undefined

  constructor(options: EnforcementOptions) {
    const { platform, client, linux, table, families, nodeName, policies } = options
    this.#options = options
    this.#tables = new NftablesTables({
      linux,
      log: platform.log,
      table,
      families,
      witness: 'filter-ingress',
      baseRules: family => baseRules(family, table),
    })
    this.#informers = new Informers({ platform, client })
    this.#pods = this.#informers.of(pods, { fieldSelector: concernedPods })
    this.#namespaces = this.#informers.of(namespaces, { metadataOnly: true })
    this.#removeHandler = policies.addEventHandler(key => this.#enqueue('policies', key))
    this.#pods.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject === undefined) options.known.forget(oldObject)
      this.#enqueue('pods', key)
    })
    this.#namespaces.addEventHandler(key => this.#enqueue('namespaces', key))
    this.#informers.of(endpointSlices, dnsSlices).addEventHandler((key, { newObject }) => {
      this.#plan.setPod(`dns ${key}`, newObject && dnsFacts(newObject))
      options.onChange()
    })
    this.#informers
      .of(nodes, { fieldSelector: `metadata.name=${nodeName}` })
      .addEventHandler((_key, { newObject }) => {
        if (this.#plan.setNodePodCidrs(newObject?.spec?.podCIDRs ?? [])) options.onChange()
      })
  }

  /** Resolves when everything is known that the rules depend on. Rejects when that takes too long; can be repeated. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    this.#running ??= this.#informers.run(this.#stopping.signal)
    if (this.#informers.all().every(({ hasSynced }) => hasSynced)) return
    const giveUp = new AbortController()
    const stop = AbortSignal.any([signal, giveUp.signal])
    const isLate = clock.sleep(readMsMax, stop).then(
      () => true,
      () => false,
    )
    const isDone = this.#informers.waitForSync(stop).then(() => false)
    // When it gives up.
    isDone.catch(() => undefined)
    const gaveUp = await Promise.race([isDone, isLate])
    giveUp.abort()
    if (gaveUp)
      throw new Error('pods, namespaces, endpoint slices and the node cannot be read from the API server')
  }

  /** The kubelet has told the addresses of the pod. */
  podChanged(key: string): void {
    this.#enqueue('pods', key)
  }

  get enforced(): Omit<EnforcedPolicies, 'policies'> {
    const { activePolicies, peerSets } = this.#plan
    return { activePolicies, peerSets, objects: this.#objects }
  }

  get hasStale(): boolean {
    return this.#tables.hasStale
  }

  verify(signal: AbortSignal): Promise<boolean> {
    return this.#tables.verify(signal)
  }

  /** Writes all changes. Rejects when that fails; the next call retries. */
  async sync(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    this.#readChanges()
    while (this.#plan.isPending) {
      const beganMs = clock.monotonicMs()
      this.#plan.plan(() => clock.monotonicMs() - beganMs >= sliceMs)
      if (this.#plan.isPending) await clock.sleep(0, signal)
    }
    for (const [policy, selectors] of this.#plan.takeExcluded()) this.#options.onExcluded(policy, selectors)
    for (const [owner, fragmentOf] of this.#plan.takeChanges()) {
      let count = 0
      this.#tables.set(owner, family => {
        const fragment = fragmentOf(family)
        count += fragment.size
        return fragment
      })
      this.#objects += count - (this.#objectCounts.get(owner) ?? 0)
      if (count > 0) this.#objectCounts.set(owner, count)
      else this.#objectCounts.delete(owner)
    }
    await this.#tables.apply(clock.monotonicMs(), signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#removeHandler()
    this.#stopping.abort()
    await this.#running
  }

  #enqueue(of: 'policies' | 'pods' | 'namespaces', key: string): void {
    this.#changed[of].add(key)
    this.#options.onChange()
  }

  #readChanges(): void {
    const { policies, known, nodeName } = this.#options
    for (const key of taken(this.#changed.namespaces)) {
      const namespace = this.#namespaces.get(key)
      this.#plan.setNamespace(key, namespace && (namespace.metadata.labels ?? {}))
    }
    for (const key of taken(this.#changed.policies)) this.#plan.setPolicy(key, policies.get(key))
    for (const key of taken(this.#changed.pods)) {
      const found = known.complete(key, this.#pods.get(key))
      this.#plan.setPod(key, found && podFacts(found.pod, { nodeName, addresses: found.addresses }))
    }
  }
}

function taken(keys: Set<string>): readonly string[] {
  const all = [...keys]
  keys.clear()
  return all
}
