import { daemonSets, deployments, replicaSets, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import {
  namespaces,
  nodes,
  pods,
  replicationControllers,
  services,
} from '#/api/generated/core/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { discoverResources } from '#/client/discovery.ts'

interface GroupKind {
  readonly group: string
  readonly kind: string
}

/** Built-in kinds that most references name; no discovery is needed. */
const usualKinds: readonly Resource[] = [
  deployments,
  statefulSets,
  replicaSets,
  daemonSets,
  replicationControllers,
  pods,
  services,
  namespaces,
  nodes,
] as readonly Resource[]

/** Size limit of the cache; when reached, it is cleared. */
const kindsMax = 1_000

/** Maps kinds to resources, with discovery for kinds that are not built in. */
export class RestMapper {
  readonly #client: Client
  readonly #found = new Map<string, Resource>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Throws Kubernetes' `no matches for kind` error if the kind is unknown. */
  async find({ group, kind }: GroupKind, signal: AbortSignal): Promise<Resource> {
    const isIt = (each: GroupKind): boolean => each.group === group && each.kind === kind
    const known = usualKinds.find(isIt) ?? this.#found.get(keyOf({ group, kind }))
    if (known !== undefined) return known
    const found = (await discoverResources(this.#client, signal)).find(isIt)
    if (found === undefined) throw new Error(`no matches for kind ${quote(kind)} in group ${quote(group)}`)
    if (this.#found.size >= kindsMax) this.#found.clear()
    this.#found.set(keyOf(found), found)
    return found
  }

  /** Drops a cached kind after a request to its resource failed. */
  forget(kind: GroupKind): void {
    this.#found.delete(keyOf(kind))
  }
}

function keyOf({ group, kind }: GroupKind): string {
  return `${kind}.${group}`
}
