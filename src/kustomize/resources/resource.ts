import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import { cloneValue, ensureMap, textOf } from '../documents/value.ts'
import { apiVersionOf, effectiveNamespace, gvkOf, type Gvk, type ResourceId } from './resource-id.ts'
import type { Origin } from './origin.ts'

/** What happens to a generated resource whose id is taken. */
export type Behavior = 'unspecified' | 'create' | 'replace' | 'merge'

/** A name that a resource had before a transformation; references to it follow the resource. */
interface PreviousName {
  readonly name: string
  readonly namespace: string
  readonly kind: string
}

/** An object under transformation, with its history. The object is changed in place and belongs to the resource. */
export class Resource {
  /** Undefined once a patch has deleted it. */
  #object: JsonObject | undefined
  #previous: readonly PreviousName[] = []
  namePrefixes: readonly string[] = []
  nameSuffixes: readonly string[] = []
  /** Undefined if the resource was not generated. */
  behavior: Behavior | undefined
  needsHash = false
  /** Of a patch: its name and kind replace those of the target. */
  allowsNameChange = false
  allowsKindChange = false
  /** Variables whose value is a field of this resource. */
  varNames: readonly string[] = []
  origin: Origin | undefined
  transformations: readonly Origin[] = []

  constructor(object: JsonObject) {
    this.#object = object
  }

  get object(): JsonObject {
    return this.#object ?? {}
  }

  get isDeleted(): boolean {
    return this.#object === undefined || Object.keys(this.#object).length === 0
  }

  replaceObject(object: JsonObject | undefined): void {
    this.#object = object
  }

  get kind(): string {
    return textOf(get(this.object, 'kind'))
  }

  get gvk(): Gvk {
    return gvkOf(textOf(get(this.object, 'apiVersion')), this.kind)
  }

  setKind(kind: string): void {
    put(this.object, 'kind', kind)
  }

  setApiVersion(gvk: Gvk): void {
    put(this.object, 'apiVersion', apiVersionOf(gvk))
  }

  get name(): string {
    return this.#metadataText('name')
  }

  setName(name: string): void {
    put(ensureMap(this.object, 'metadata'), 'name', name)
  }

  get namespace(): string {
    return this.#metadataText('namespace')
  }

  setNamespace(namespace: string): void {
    const metadata = ensureMap(this.object, 'metadata')
    if (namespace === '') delete metadata['namespace']
    else put(metadata, 'namespace', namespace)
  }

  get labels(): Record<string, string> {
    return this.stringMap('labels')
  }

  get annotations(): Record<string, string> {
    return this.stringMap('annotations')
  }

  /** Sets labels or annotations, without the map if it is empty. */
  setStringMap(field: 'labels' | 'annotations', map: Readonly<Record<string, string>>): void {
    const metadata = ensureMap(this.object, 'metadata')
    if (Object.keys(map).length === 0) delete metadata[field]
    else put(metadata, field, { ...map })
  }

  stringMap(field: 'labels' | 'annotations'): Record<string, string> {
    const metadata = get(this.object, 'metadata')
    return stringsOf(isObject(metadata) ? get(metadata, field) : undefined)
  }

  get currentId(): ResourceId {
    return { ...this.gvk, name: this.name, namespace: this.namespace }
  }

  /** The id before all transformations. */
  get originalId(): ResourceId {
    return this.previousIds[0] ?? this.currentId
  }

  /** Former ids, the oldest first. */
  get previousIds(): readonly ResourceId[] {
    return this.#previous.map(previous => ({ ...this.gvk, ...previous }))
  }

  get allIds(): readonly ResourceId[] {
    return [...this.previousIds, this.currentId]
  }

  storePreviousId(): void {
    const id = this.currentId
    const previous = { name: id.name, namespace: effectiveNamespace(id), kind: id.kind }
    this.#previous = [...this.#previous, previous]
  }

  /**
   * The annotations with which kustomize keeps the history during a build. They are not in the object, but some
   * error messages show them, and patches see that there are annotations.
   */
  get buildAnnotations(): ReadonlyMap<string, string> {
    const previous = this.#previous
    const flag = (isSet: boolean) => (isSet ? ['enabled'] : [])
    const lists: Readonly<Record<string, readonly string[]>> = {
      previousKinds: previous.map(each => each.kind),
      previousNames: previous.map(each => each.name),
      previousNamespaces: previous.map(each => each.namespace),
      prefixes: this.namePrefixes,
      suffixes: this.nameSuffixes,
      generatorBehavior: this.behavior === undefined ? [] : [this.behavior],
      needsHashSuffix: flag(this.needsHash),
    }
    const present = Object.entries(lists).filter(([, values]) => values.length > 0)
    return new Map(present.map(([key, values]) => [`internal.config.kubernetes.io/${key}`, values.join(',')]))
  }

  /** The object with its history, as messages show it. */
  get described(): JsonObject {
    const described = cloneValue(this.object)
    const annotations = Object.fromEntries([...this.buildAnnotations, ...Object.entries(this.annotations)])
    put(ensureMap(described, 'metadata'), 'annotations', annotations)
    return described
  }

  copy(): Resource {
    const copy = new Resource(cloneValue(this.object))
    copy.copyHistory(this)
    copy.origin = this.origin
    copy.transformations = this.transformations
    copy.allowsNameChange = this.allowsNameChange
    copy.allowsKindChange = this.allowsKindChange
    return copy
  }

  copyHistory(other: Resource): void {
    this.#previous = other.#previous
    this.namePrefixes = other.namePrefixes
    this.nameSuffixes = other.nameSuffixes
    this.behavior = other.behavior
    this.needsHash = other.needsHash
    this.varNames = other.varNames
  }

  /** Takes name, namespace, history, and labels and annotations that it lacks from a resource that it replaces. */
  takeMetadataOf(other: Resource): void {
    const needsHash = this.needsHash && other.needsHash
    this.setStringMap('labels', { ...other.labels, ...this.labels })
    this.setStringMap('annotations', { ...other.annotations, ...this.annotations })
    this.setName(other.name)
    this.setNamespace(other.namespace)
    this.copyHistory(other)
    this.needsHash = needsHash
    if (this.transformations.length === 0) this.transformations = other.transformations
  }

  #metadataText(field: string): string {
    const metadata = get(this.object, 'metadata')
    return isObject(metadata) ? textOf(get(metadata, field)) : ''
  }
}

/** A map of scalars as strings. */
export function stringsOf(map: JsonObject[string] | undefined): Record<string, string> {
  const strings: Record<string, string> = {}
  if (isObject(map)) for (const key of Object.keys(map)) put(strings, key, textOf(get(map, key)))
  return strings
}
