import type { KubernetesObject, OwnerReference, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Change } from '#/client/informer.ts'

export interface GraphNode {
  readonly resource: Resource
  readonly object: Stored
}

/** Owner references across all kinds, as observed by informers. Objects are identified by uid. */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>()
  /** By the owner's uid; the owner may be unknown or absent. */
  readonly #dependents = new Map<string, Set<string>>()

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid)
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return this.dependentUids(uid).flatMap(each => this.#nodes.get(each) ?? [])
  }

  dependentUids(uid: string): readonly string[] {
    return [...(this.#dependents.get(uid) ?? [])]
  }

  change(resource: Resource, { oldObject, newObject: after }: Change<KubernetesObject>): void {
    const { uid } = (after ?? oldObject).metadata
    const left = ownersOf(this.#nodes.get(uid)?.object)
    const next = ownersOf(after)
    if (after === undefined) this.#nodes.delete(uid)
    else this.#nodes.set(uid, { resource, object: after })
    if (left === next) return
    for (const owner of left) if (!next.some(each => each.uid === owner.uid)) this.#unlink(owner.uid, uid)
    for (const owner of next) this.#link(owner.uid, uid)
  }

  #link(owner: string, dependent: string): void {
    this.#dependents.getOrInsertComputed(owner, () => new Set()).add(dependent)
  }

  #unlink(owner: string, dependent: string): void {
    const known = this.#dependents.get(owner)
    known?.delete(dependent)
    if (known?.size === 0) this.#dependents.delete(owner)
  }
}

const noOwners: readonly OwnerReference[] = []

export function ownersOf(object: KubernetesObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? noOwners
}
