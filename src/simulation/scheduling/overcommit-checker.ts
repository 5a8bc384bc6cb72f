import { parseEncodedObject } from '#/api/encoded-object.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { Store, StoreEvent } from '#/store/store.ts'
import { overcommittedBy, isOn } from './node-capacity.ts'

const nodesPrefix = '/registry/minions/'
const podsPrefix = '/registry/pods/'

/** Checks every store revision for overcommitted nodes. */
export class OvercommitChecker {
  readonly violations: string[] = []
  readonly #store: Store
  readonly #nodes = new Map<string, Node>()
  readonly #pods = new Map<string, Pod>()

  constructor(store: Store) {
    this.#store = store
  }

  async run(signal: AbortSignal): Promise<void> {
    for await (const { events } of this.#store.watch({ prefix: '/registry/', afterRevision: 0, signal })) {
      for (const event of events) this.#look(event)
    }
  }

  #look(event: StoreEvent): void {
    if (event.key.startsWith(nodesPrefix)) take(this.#nodes, event)
    if (!event.key.startsWith(podsPrefix)) return
    const pod = take(this.#pods, event)
    const node = this.#nodes.get(`${nodesPrefix}${pod?.spec?.nodeName}`)
    if (node === undefined) return
    const there = [...this.#pods.values()].filter(each => isOn(each, node))
    for (const what of overcommittedBy(node, there)) {
      this.violations.push(`revision ${event.revision}: node ${node.metadata.name} is overcommitted: ${what}`)
    }
  }
}

/** Stored bytes become typed here: the API server stores only objects of one kind below a prefix. */
function take<T>(objects: Map<string, T>, event: StoreEvent): T | undefined {
  if (event.type === 'delete') {
    objects.delete(event.key)
    return undefined
  }
  const object = parseEncodedObject(event.value) as T
  objects.set(event.key, object)
  return object
}
