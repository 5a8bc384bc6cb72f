import type { IpFamily } from '#/api/net/ip.ts'
import { objectId } from '#/nftables/objects.ts'
import type { Fragment } from '#/nftables/ruleset.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import { clientOf, serverOf } from '../base-rules.ts'
import { portKey, type PodIndex } from './pod-index.ts'
import { policyChain } from './policy-chain.ts'
import { directions, type Direction, type PolicyRules, type PortName } from './read-policy.ts'
import { SelectionIndex } from './selection-index.ts'
import type { Selection } from './selection.ts'

export interface KnownPolicy {
  readonly id: number
  rules: PolicyRules
}

/** The policies of some pods for one direction. */
export interface PolicySet {
  readonly key: string
  /** Name of its chain. */
  readonly chain: string
  readonly policies: readonly KnownPolicy[]
}

interface PeerSet {
  readonly name: string
  readonly selection: Selection
  readonly members: Set<string>
}

interface PortSet {
  readonly name: string
  readonly port: PortName
}

export interface ActivePoliciesOptions {
  readonly pods: PodIndex
  /** Called with pods whose membership in sets may have changed. */
  readonly onPods: (keys: Iterable<string | undefined>) => void
  /** Called with the number of selectors of a policy that are above the bound of its namespace. */
  readonly onExcluded: (policy: string, selectors: number) => void
  readonly onChange: (owner: string, fragmentOf: (family: IpFamily) => Fragment) => void
}

interface References {
  readonly namespace: string
  /** Upper limit of the elements of the peer sets when they were made. */
  readonly elements: number
  readonly selections: readonly Selection[]
  readonly ports: readonly PortName[]
}

/**
 * Maximum number of elements of the peer sets of all policies of a namespace, so that a tenant with thousands of broad
 * selectors does not exhaust the memory of nodes. Selectors above it select nothing.
 */
const elementsMax = 500_000

type Membership = (address: string) => readonly (readonly [id: string, content: string])[]

/** Maximum length of the part of a chain's name that is for readers; the kernel admits 255. */
const readableMax = 200

/**
 * The sets of policies that pods of this node have, with all that they refer to: policies, sets of peers, sets of named
 * ports. Everything exists while it is referred to.
 */
export class ActivePolicies {
  readonly #options: ActivePoliciesOptions
  readonly #sets = new ReferenceCounts<PolicySet>()
  readonly #policies = new ReferenceCounts<KnownPolicy>()
  readonly #peers = new ReferenceCounts<PeerSet>()
  readonly #ports = new ReferenceCounts<PortSet>()
  readonly #peerIndex = new SelectionIndex()
  /** What each policy refers to. */
  readonly #references = new Map<number, References>()
  /** Elements of the peer sets of the policies of each namespace. */
  readonly #elements = new Map<string, number>()
  /** The peer sets of which a pod is a member. */
  readonly #memberships = new Map<string, readonly PeerSet[]>()

  constructor(options: ActivePoliciesOptions) {
    this.#options = options
  }

  get policyCount(): number {
    return this.#policies.size
  }

  get peerSetCount(): number {
    return this.#peers.size
  }

  /** The set of these policies, which is not empty. To be released. */
  acquireSet(direction: Direction, policies: readonly KnownPolicy[]): PolicySet {
    const sorted = policies.toSorted((a, b) => a.id - b.id)
    const key = `${direction} ${sorted.map(({ id }) => id).join()}`
    return this.#sets.acquire(key, id => {
      const set = { key, chain: `${direction}-set/${id}`, policies: sorted }
      for (const policy of sorted) this.#activate(policy)
      this.#options.onChange(`set ${set.chain}`, family => setChain(set, direction, family))
      return set
    })
  }

  releaseSet(set: PolicySet | undefined): void {
    const gone = set && this.#sets.release(set.key)
    if (gone === undefined) return
    this.#options.onChange(`set ${gone.chain}`, nothing)
    for (const policy of gone.policies) this.#deactivate(policy)
  }

  /** Replaces the rules of a policy. */
  update(policy: KnownPolicy, rules: PolicyRules): void {
    policy.rules = rules
    if (this.#policies.get(String(policy.id)) === undefined) return
    const before = this.#takeReferences(policy)
    this.#acquireReferences(policy)
    this.#writePolicy(policy)
    this.#releaseReferences(before)
  }

  /** The elements of a pod in the sets of peers and named ports, for one of its addresses. */
  planMember(key: string): Membership {
    const { pods } = this.#options
    const pod = pods.get(key)
    const matching = pod ? this.#peerIndex.matching(pod, pods.labelsOf(pod.namespace)) : []
    const peers = matching.flatMap(selection => this.#peers.get(selection.key) ?? [])
    for (const { members } of this.#memberships.get(key) ?? []) members.delete(key)
    for (const { members } of peers) members.add(key)
    if (peers.length > 0) this.#memberships.set(key, peers)
    else this.#memberships.delete(key)
    const ports = (pod?.namedPorts ?? []).flatMap(named => {
      const set = this.#ports.get(portKey(named))
      return set ? { name: set.name, port: named.port } : []
    })
    return address => [
      ...peers.map(({ name }) => [objectId('element', name, address), ''] as const),
      ...ports.map(({ name, port }) => [objectId('element', name, `${address} . ${port}`), ''] as const),
    ]
  }

  #activate(policy: KnownPolicy): void {
    this.#policies.acquire(String(policy.id), () => {
      this.#acquireReferences(policy)
      this.#writePolicy(policy)
      return policy
    })
  }

  #deactivate(policy: KnownPolicy): void {
    if (this.#policies.release(String(policy.id)) === undefined) return
    for (const direction of directions)
      this.#options.onChange(`policy ${chainOf(policy, direction)}`, nothing)
    this.#releaseReferences(this.#takeReferences(policy))
  }

  #writePolicy(policy: KnownPolicy): void {
    const peers = new Set(this.#references.get(policy.id)?.selections.map(({ key }) => key))
    for (const direction of directions) {
      const chain = chainOf(policy, direction)
      const rules = policy.rules[direction]
      this.#options.onChange(`policy ${chain}`, family => {
        if (rules === undefined) return new Map()
        return policyChain({
          direction,
          family,
          chain,
          rules,
          peerSet: ({ key }) => (peers.has(key) ? this.#peers.get(key)?.name : undefined),
          portSet: port => this.#ports.get(portKey(port))?.name ?? '',
        })
      })
    }
  }

  #acquireReferences(policy: KnownPolicy): void {
    const { pods, onPods, onChange } = this.#options
    const references = this.#planReferences(policy)
    this.#references.set(policy.id, references)
    for (const selection of references.selections) {
      this.#peers.acquire(selection.key, id => {
        const name = `peers/${id}`
        this.#peerIndex.add(selection)
        onChange(name, family =>
          setObject(name, `${tableFamily(family).address} ; comment "${commentOf(selection)}"`),
        )
        onPods(pods.selected(selection))
        return { name, selection, members: new Set() }
      })
    }
    for (const port of references.ports) {
      this.#ports.acquire(portKey(port), id => {
        const name = `ports/${id}/${port.name}`
        onChange(name, family => setObject(name, `${tableFamily(family).address} . inet_service`))
        onPods(pods.withPort(port))
        return { name, port }
      })
    }
  }

  /** Leaves out peers above the bound of the namespace. */
  #planReferences({ rules }: KnownPolicy): References {
    const { pods, onExcluded } = this.#options
    const namespace = namespaceOf(rules)
    const wanted = selectionsOf(rules)
    let used = this.#elements.get(namespace) ?? 0
    let elements = 0
    const selections = wanted.filter(selection => {
      const count = pods.candidates(selection)
      if (used + count > elementsMax) return false
      used += count
      elements += count
      return true
    })
    this.#elements.set(namespace, used)
    if (selections.length < wanted.length) onExcluded(rules.key, wanted.length - selections.length)
    return { namespace, elements, selections, ports: portNamesOf(rules) }
  }

  /** What the policy has referred to until now. To be released. */
  #takeReferences({ id }: KnownPolicy): References {
    const references = this.#references.get(id) ?? noReferences
    this.#references.delete(id)
    const { namespace, elements } = references
    const left = (this.#elements.get(namespace) ?? 0) - elements
    if (left > 0) this.#elements.set(namespace, left)
    else this.#elements.delete(namespace)
    return references
  }

  #releaseReferences({ selections, ports }: References): void {
    const { pods, onPods, onChange } = this.#options
    for (const { key } of selections) {
      const gone = this.#peers.release(key)
      if (gone === undefined) continue
      this.#peerIndex.delete(gone.selection)
      onChange(gone.name, nothing)
      onPods(gone.members)
    }
    for (const port of ports) {
      const gone = this.#ports.release(portKey(port))
      if (gone === undefined) continue
      onChange(gone.name, nothing)
      onPods(pods.withPort(gone.port))
    }
  }
}

const noReferences: References = { namespace: '', elements: 0, selections: [], ports: [] }

function namespaceOf({ key }: PolicyRules): string {
  return key.split('/')[0] ?? ''
}

const nothing = (): Fragment => new Map()

function chainOf({ id, rules }: KnownPolicy, direction: Direction): string {
  const name = rules.key.slice(0, readableMax).replaceAll(/[^A-Za-z0-9/._-]/g, '_')
  return `${direction}/${id}/${name}`
}

/** Drops what no policy accepts, unless a pod reaches itself through a service. */
function setChain({ chain, policies }: PolicySet, direction: Direction, family: IpFamily): Fragment {
  const lines = [
    ...policies.map(policy => `jump ${chainOf(policy, direction)}`),
    `${clientOf(family)} . ${serverOf(family)} @self accept`,
    'drop',
  ]
  return new Map([[objectId('chain', chain), lines.join('\n')]])
}

function setObject(name: string, type: string): Fragment {
  return new Map([[objectId('set', name), `type ${type} ;`]])
}

/** The kernel admits 127 characters. Labels and names contain no quotes. */
const commentMax = 127

function commentOf({ key }: Selection): string {
  return key.slice(0, commentMax)
}

function selectionsOf(rules: PolicyRules): readonly Selection[] {
  const all = rulesOf(rules).flatMap(({ peers }) => peers?.selections ?? [])
  return [...new Map(all.map(each => [each.key, each])).values()]
}

function portNamesOf(rules: PolicyRules): readonly PortName[] {
  const all = rulesOf(rules).flatMap(({ ports }) => ports?.names ?? [])
  return [...new Map(all.map(each => [portKey(each), each])).values()]
}

function rulesOf({
  ingress = [],
  egress = [],
}: PolicyRules): readonly NonNullable<PolicyRules['ingress']>[number][] {
  return [...ingress, ...egress]
}

/** Values that exist while something refers to their key. Each has a number that no other value ever has. */
class ReferenceCounts<T> {
  readonly #entries = new Map<string, { readonly value: T; count: number }>()
  #last = 0

  /** The value of the key, made by `create` for the first reference. */
  acquire(key: string, create: (id: number) => T): T {
    const entry = this.#entries.get(key) ?? { value: create(++this.#last), count: 0 }
    entry.count++
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Returns the value if this was the last reference to it. */
  release(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || --entry.count > 0) return undefined
    this.#entries.delete(key)
    return entry.value
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value
  }

  get size(): number {
    return this.#entries.size
  }
}
