/**
 * Nominated pods: pods with a nominated node after preemption. Their requests count on that node for pods of
 * lower or equal priority.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { ClusterEvents } from './cluster-events.ts'
import { podInfoOf, type PodInfo } from './pod-info.ts'

const none: readonly PodInfo[] = []

export class Nominator {
  readonly #events: ClusterEvents
  readonly #byUid = new Map<string, string>()
  readonly #byNode = new Map<string, readonly PodInfo[]>()

  constructor(events: ClusterEvents) {
    this.#events = events
  }

  get isEmpty(): boolean {
    return this.#byNode.size === 0
  }

  /** The pods nominated for a node. */
  podsOn(node: string): readonly PodInfo[] {
    return this.#byNode.get(node) ?? none
  }

  nodeOf(uid: string): string | undefined {
    return this.#byUid.get(uid)
  }

  /** Sets or clears the nominated node of a pod; clearing it may make other pods schedulable. */
  nominate(info: PodInfo, node: string | undefined): void {
    const previous = this.nodeOf(info.uid)
    this.#delete(info.uid)
    if (node !== undefined) {
      this.#byUid.set(info.uid, node)
      this.#byNode.set(node, [...this.podsOn(node), info])
    }
    if (previous === undefined || previous === node) return
    // Only pods of lower or equal priority were blocked by the nomination.
    this.#events.occurred(pods, { oldObject: info.pod }, pod => podInfoOf(pod).priority <= info.priority)
  }

  /** Removes the nomination of a pod that is assumed on a node. On its nominated node it releases nothing. */
  assumed(info: PodInfo, node: string): void {
    if (this.nodeOf(info.uid) === node) this.#delete(info.uid)
    else this.nominate(info, undefined)
  }

  /** Takes the nominated node from the pod status. Returns true if the pod has lost its nomination. */
  updateFromStatus(before: Stored<Pod> | undefined, after: Stored<Pod>): boolean {
    const known = this.nodeOf(after.metadata.uid)
    const current = after.status?.nominatedNodeName
    const previous = before?.status?.nominatedNodeName
    // An own nomination not yet in the status stays valid until the status is changed.
    const node = current || (previous ? undefined : known)
    if (node !== undefined || known !== undefined) this.nominate(podInfoOf(after), node)
    return Boolean(previous) && !current
  }

  #delete(uid: string): void {
    const node = this.#byUid.get(uid)
    if (node === undefined) return
    this.#byUid.delete(uid)
    const left = this.podsOn(node).filter(pod => pod.uid !== uid)
    if (left.length === 0) this.#byNode.delete(node)
    else this.#byNode.set(node, left)
  }
}
