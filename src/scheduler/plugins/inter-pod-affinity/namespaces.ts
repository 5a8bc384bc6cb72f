import { LruMap } from '#/base/lru-map.ts'
import type { Namespace } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Labels } from '#/api/labels.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { Informer } from '#/client/informer.ts'

/** The namespaces that a selector selects. The ID changes whenever the set changes. */
export interface SelectedNamespaces {
  readonly id: number
  readonly names: ReadonlySet<string>
}

interface Selection extends SelectedNamespaces {
  /** Version of the namespaces at the time of evaluation. */
  readonly version: number
}

/** Maximum number of cached selectors. */
const selectionsMax = 256

export class Namespaces {
  readonly #informer: Informer<Namespace>
  readonly #selections = new LruMap<string, Selection>(selectionsMax)
  #version = 0
  #nextId = 0

  constructor(informer: Informer<Namespace>) {
    this.#informer = informer
    informer.addEventHandler((_name, { oldObject, newObject }) => {
      const isSame = oldObject !== undefined && newObject !== undefined
      if (!isSame || !equalJson(oldObject.metadata.labels, newObject.metadata.labels)) this.#version++
    })
  }

  labelsOf(name: string): Labels | undefined {
    return this.#informer.get(name)?.metadata.labels
  }

  selectedBy(selector: Selector): SelectedNamespaces {
    const key = selector.toString()
    const known = this.#selections.get(key)
    if (known?.version === this.#version) return known
    const names = new Set<string>()
    for (const { metadata } of this.#informer.list()) {
      if (selector.matches(metadata.labels)) names.add(metadata.name)
    }
    const isSame = known?.names.size === names.size && known.names.isSubsetOf(names)
    const made = { id: isSame ? known.id : this.#nextId++, names, version: this.#version }
    this.#selections.set(key, made)
    return made
  }
}
