import type { Resource } from '#/api/resource.ts'
import type { AdmissionAttributes } from './admission-chain.ts'

/** Caches a value that depends only on resource, operation and subresource. */
export class TargetMemo<V> {
  readonly #find: (target: AdmissionAttributes) => V
  readonly #known = new WeakMap<Resource, Map<string, { readonly value: V }>>()

  constructor(find: (target: AdmissionAttributes) => V) {
    this.#find = find
  }

  get(target: AdmissionAttributes): V {
    const { resource, operation, subresource } = target
    let ofResource = this.#known.get(resource)
    if (ofResource === undefined) this.#known.set(resource, (ofResource = new Map()))
    const key = subresource === '' ? operation : `${operation}/${subresource}`
    let known = ofResource.get(key)
    if (known === undefined) ofResource.set(key, (known = { value: this.#find(target) }))
    return known.value
  }
}
