/**
 * Nominated pods: pods with a nominated node after preemption. Their requests count on that node for pods of
 * lower or equal priority.
 */
import type { PodInfo } from './pod-info.ts'

const none: readonly PodInfo[] = []

export class Nominator {
  readonly #byUid = new Map<string, string>()
  readonly #byNode = new Map<string, readonly PodInfo[]>()

  on(node: string): readonly PodInfo[] {
    return this.#byNode.get(node) ?? none
  }

  nodeOf(uid: string): string | undefined {
    return this.#byUid.get(uid)
  }

  set(pod: PodInfo, node: string): void {
    this.delete(pod.uid)
    this.#byUid.set(pod.uid, node)
    this.#byNode.set(node, [...this.on(node), pod])
  }

  delete(uid: string): void {
    const node = this.#byUid.get(uid)
    if (node === undefined) return
    this.#byUid.delete(uid)
    const left = this.on(node).filter(pod => pod.uid !== uid)
    if (left.length === 0) this.#byNode.delete(node)
    else this.#byNode.set(node, left)
  }
}
