/**
 * Plans the nftables objects of a node from all network policies, pods and namespaces. It is incremental: a change of
 * a pod costs what the selectors that match it cost, and a change of a policy what its pods and peers cost. Only the
 * policies of pods on this node are planned, with the sets of pods that they refer to, which equal selectors share.
 *
 * The map `ingress-pods` leads from the address of a pod of this node to the chain of its set of policies, which
 * jumps to the chain of each policy and drops what none accepts; likewise `egress-pods`.
 */
import type { NetworkPolicy } from '#/api/generated/networking/v1.ts'
import type { Labels } from '#/api/labels.ts'
import { parseCidr } from '#/api/net/cidr.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import { objectId } from '#/nftables/objects.ts'
import type { Fragment } from '#/nftables/ruleset.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import { ActivePolicies, type KnownPolicy, type PolicySet } from './plan/active-policies.ts'
import type { PodFacts } from './pod-facts.ts'
import { PodIndex } from './plan/pod-index.ts'
import { directions, readPolicy, type Direction } from './plan/read-policy.ts'
import { SelectionIndex } from './plan/selection-index.ts'

/** The objects of an owner in the table of a family; none if the owner is gone. */
export type FragmentOf = (family: IpFamily) => Fragment

type PolicySets = Readonly<Partial<Record<Direction, PolicySet>>>

export class PolicyPlan {
  readonly #pods = new PodIndex()
  readonly #policies = new Map<string, KnownPolicy>()
  /** Selections of policies, and the policies with this selection. */
  readonly #subjects = new SelectionIndex()
  readonly #subjectPolicies = new Map<string, Set<KnownPolicy>>()
  readonly #active: ActivePolicies
  /** What the pods refer to, as planned last. */
  readonly #planned = new Map<string, PolicySets>()
  readonly #dirty = new Set<string>()
  /** Sources of keys of pods to be planned again; undefined stands for a pod that need not be. */
  readonly #scans: Iterator<string | undefined>[] = []
  readonly #changes = new Map<string, FragmentOf>()
  readonly #excluded = new Map<string, number>()
  #policyCount = 0
  #nodePodCidrs: readonly string[] = []

  constructor() {
    this.#active = new ActivePolicies({
      pods: this.#pods,
      onPods: keys => this.#enqueue(keys),
      onChange: (owner, fragmentOf) => void this.#changes.set(owner, fragmentOf),
      onExcluded: (policy, selectors) => void this.#excluded.set(policy, selectors),
    })
  }

  /** Policies of pods on this node. */
  get activePolicies(): number {
    return this.#active.policyCount
  }

  /** Sets of pods that active policies refer to. */
  get peerSets(): number {
    return this.#active.peerSetCount
  }

  /** True if `plan` has work to do. */
  get isPending(): boolean {
    return this.#dirty.size > 0 || this.#scans.length > 0
  }

  /** Undefined for a deleted policy. */
  setPolicy(key: string, policy: NetworkPolicy | undefined): void {
    const before = this.#policies.get(key)
    const rules = policy && readPolicy(policy)
    if (before) this.#removeSubject(before)
    if (rules === undefined) {
      this.#policies.delete(key)
      return
    }
    const known = before ?? { id: ++this.#policyCount, rules }
    if (before) this.#active.update(before, rules)
    this.#policies.set(key, known)
    this.#addSubject(known)
  }

  /** Undefined for a pod that no policy concerns. */
  setPod(key: string, facts: PodFacts | undefined): void {
    if (this.#pods.setPod(key, facts)) this.#dirty.add(key)
  }

  setNamespace(name: string, labels: Labels | undefined): void {
    this.#enqueue(this.#pods.setNamespace(name, labels))
  }

  /** Packets of pods in these ranges are dropped while the pod is not known. False if nothing has changed. */
  setNodePodCidrs(cidrs: readonly string[]): boolean {
    if (equalJson(cidrs, this.#nodePodCidrs)) return false
    this.#nodePodCidrs = cidrs
    this.#changes.set('node', family => {
      const own = cidrs.filter(cidr => parseCidr(cidr)?.family === family)
      return new Map(own.map(cidr => [objectId('element', 'node-pod-cidrs', cidr), '']))
    })
    return true
  }

  /**
   * Plans until nothing is pending, or `isOver`, which is called after each pod: policies with thousands of peers may
   * take seconds.
   */
  plan(isOver: () => boolean = () => false): void {
    while (this.isPending) {
      this.#step()
      if (isOver()) return
    }
  }

  /** The owners with changed objects since the last call. Complete when nothing is pending. */
  takeChanges(): ReadonlyMap<string, FragmentOf> {
    const changes = new Map(this.#changes)
    this.#changes.clear()
    return changes
  }

  /**
   * Policies whose namespace has too many peers, since the last call, with the number of their selectors that select
   * nothing for this reason.
   */
  takeExcluded(): ReadonlyMap<string, number> {
    const excluded = new Map(this.#excluded)
    this.#excluded.clear()
    return excluded
  }

  #step(): void {
    const scan = this.#scans.at(-1)
    if (scan) {
      const { done, value } = scan.next()
      if (done) this.#scans.pop()
      else if (value !== undefined) this.#dirty.add(value)
      return
    }
    const [key] = this.#dirty
    if (key === undefined) return
    this.#dirty.delete(key)
    this.#planPod(key)
  }

  #planPod(key: string): void {
    const pod = this.#pods.get(key)
    const before = this.#planned.get(key)
    const sets = pod?.isLocal ? this.#setsOf(pod) : undefined
    const memberships = this.#active.planMember(key)
    this.#changes.set(`pod ${key}`, family => {
      const addresses = pod?.addresses.filter(tableFamily(family).isOwn) ?? []
      return new Map([
        ...addresses.flatMap(address => memberships(address)),
        ...(sets ? addresses.flatMap(address => localElements(address, sets)) : []),
      ])
    })
    if (sets) this.#planned.set(key, sets)
    else this.#planned.delete(key)
    for (const direction of directions) this.#active.releaseSet(before?.[direction])
  }

  #setsOf(pod: PodFacts): PolicySets {
    const subjects = this.#subjects.matching(pod, this.#pods.labelsOf(pod.namespace))
    const policies = subjects.flatMap(({ key }) => [...(this.#subjectPolicies.get(key) ?? [])])
    const setOf = (direction: Direction): PolicySets => {
      const own = policies.filter(({ rules }) => rules[direction] !== undefined)
      return own.length > 0 ? { [direction]: this.#active.acquireSet(direction, own) } : {}
    }
    return { ...setOf('ingress'), ...setOf('egress') }
  }

  #addSubject(policy: KnownPolicy): void {
    const { subject } = policy.rules
    this.#subjects.add(subject)
    const policies = this.#subjectPolicies.get(subject.key) ?? new Set()
    this.#subjectPolicies.set(subject.key, policies.add(policy))
    this.#enqueueSubjects(policy)
  }

  #removeSubject(policy: KnownPolicy): void {
    const { subject } = policy.rules
    const policies = this.#subjectPolicies.get(subject.key)
    policies?.delete(policy)
    if (policies?.size === 0) {
      this.#subjectPolicies.delete(subject.key)
      this.#subjects.delete(subject)
    }
    this.#enqueueSubjects(policy)
  }

  #enqueueSubjects({ rules }: KnownPolicy): void {
    this.#enqueue(this.#pods.selected(rules.subject, { isLocal: true }))
  }

  #enqueue(keys: Iterable<string | undefined>): void {
    this.#scans.push(keys[Symbol.iterator]())
  }
}

function localElements(address: string, sets: PolicySets): readonly (readonly [string, string])[] {
  const verdicts = directions.map(direction => {
    const set = sets[direction]
    return [objectId('element', `${direction}-pods`, address), set ? `goto ${set.chain}` : 'accept'] as const
  })
  const isIsolated = directions.some(direction => sets[direction] !== undefined)
  const self = [objectId('element', 'self', `${address} . ${address}`), ''] as const
  return isIsolated ? [...verdicts, self] : verdicts
}
