import { get } from '#/api/text/json-object.ts'
import { KustomizeError } from '../kustomize-error.ts'
import { equalIds, formatGoId, formatId, identityOf, type ResourceId } from './resource-id.ts'
import { stringsOf, type Resource } from './resource.ts'

/** Resources in the order in which they were loaded; no two have the same id. */
export class ResourceList implements Iterable<Resource> {
  #resources: Resource[] = []

  toArray(): readonly Resource[] {
    return [...this.#resources]
  }

  [Symbol.iterator](): Iterator<Resource> {
    return this.#resources[Symbol.iterator]()
  }

  appendAll(resources: Iterable<Resource>): void {
    const taken = new Set(this.#resources.map(each => identityOf(each.currentId)))
    for (const resource of resources) {
      const id = resource.currentId
      const identity = identityOf(id)
      if (taken.has(identity)) {
        throw new KustomizeError(`may not add resource with an already registered id: ${formatId(id)}`)
      }
      taken.add(identity)
      this.#resources.push(resource)
    }
  }

  /** Replaces the content; ids must still be unique. */
  replaceAll(resources: Iterable<Resource>): void {
    this.#resources = []
    this.appendAll(resources)
  }

  dropDeleted(): void {
    this.#resources = this.#resources.filter(resource => !resource.isDeleted)
  }

  /** Resources that have or had a matching id. */
  havingId(matches: (id: ResourceId) => boolean): Resource[] {
    return this.#resources.filter(resource => !resource.isDeleted && resource.allIds.some(matches))
  }

  /** The only resource that has or had an id. */
  byId(id: ResourceId): Resource {
    const [found, ...others] = this.havingId(each => equalIds(each, id))
    if (found !== undefined && others.length === 0) return found
    const problem = found === undefined ? 'no matches' : 'multiple matches'
    const name = formatId(id)
    throw new KustomizeError(`${problem} for Id ${name}; failed to find unique target for patch ${name}`)
  }

  /** Adds a generated resource, or lets it replace or change the one with its id as its behavior says. */
  absorb(resource: Resource): void {
    const id = resource.currentId
    const [old, ...others] = this.havingId(each => equalIds(each, id))
    const { behavior = 'unspecified' } = resource
    const changes = behavior === 'merge' || behavior === 'replace'
    if (old === undefined) {
      if (changes) throw new KustomizeError(`id ${formatGoId(id)} does not exist; cannot merge or replace`)
      this.appendAll([resource])
      return
    }
    if (others.length > 0) {
      const ids = [old, ...others].map(each => formatId(each.currentId)).join(' ')
      throw new KustomizeError(`found multiple objects [${ids}] that could accept merge of ${formatId(id)}`)
    }
    if (!changes) {
      const problem = `id ${formatGoId(id)} exists; can not use behavior: '${behavior}'`
      throw new KustomizeError(`${problem}, behavior must be merge or replace`)
    }
    if (behavior === 'merge') mergeData(resource, old)
    const origin = behavior === 'merge' ? (old.origin ?? resource.origin) : resource.origin
    resource.takeMetadataOf(old)
    resource.origin = origin
    this.#resources[this.#resources.indexOf(old)] = resource
  }
}

function mergeData(resource: Resource, old: Resource): void {
  for (const field of ['data', 'binaryData'] as const) {
    const merged = { ...stringsOf(get(old.object, field)), ...stringsOf(get(resource.object, field)) }
    if (Object.keys(merged).length === 0) delete resource.object[field]
    else resource.object[field] = merged
  }
}
