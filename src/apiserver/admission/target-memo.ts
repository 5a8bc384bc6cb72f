import type { Resource } from '#/api/resource.ts'
import type { AdmissionTarget } from './admission.ts'

/** Caches a value that depends only on resource, operation and subresource. */
export class TargetMemo<V> {
  readonly #find: (target: AdmissionTarget) => V
  readonly #known = new WeakMap<Resource, Map<string, { readonly value: V }>>()

  constructor(find: (target: AdmissionTarget) => V) {
    this.#find = find
  }

  get(target: AdmissionTarget): V {
    const { resource, operation, subresource } = target
    let ofResource = this.#known.get(resource)
    if (ofResource === undefined) this.#known.set(resource, (ofResource = new Map()))
    const key = subresource === '' ? operation : `${operation}/${subresource}`
    let known = ofResource.get(key)
    if (known === undefined) ofResource.set(key, (known = { value: this.#find(target) }))
    return known.value
  }
}
