import { equalJson } from '#/api/text/json-value.ts'
import type { Labels } from '#/api/labels.ts'
import type { NamedPort, PodFacts } from '../pod-facts.ts'
import { labelTexts, requiredLabel } from './selection-index.ts'
import { namespaceMatches, selectionMatches, type Selection } from './selection.ts'

/** Pods and namespaces, and the pods that a selection or a named port concerns. */
export class PodIndex {
  readonly #pods = new Map<string, PodFacts>()
  readonly #namespaces = new Map<string, Labels>()
  /** By namespace. */
  readonly #byNamespace = new Map<string, Set<string>>()
  /** By namespace and label. */
  readonly #byLabel = new Map<string, Set<string>>()
  readonly #byPort = new Map<string, Set<string>>()

  get(key: string): PodFacts | undefined {
    return this.#pods.get(key)
  }

  labelsOf(namespace: string): Labels | undefined {
    return this.#namespaces.get(namespace)
  }

  /** False if nothing has changed. */
  setPod(key: string, facts: PodFacts | undefined): boolean {
    const before = this.#pods.get(key)
    if (equalJson(before, facts)) return false
    if (before) {
      remove(this.#byNamespace, before.namespace, key)
      for (const label of labelKeys(before)) remove(this.#byLabel, label, key)
      for (const port of before.namedPorts) remove(this.#byPort, portKey(port), key)
      this.#pods.delete(key)
    }
    if (facts) {
      this.#pods.set(key, facts)
      add(this.#byNamespace, facts.namespace, key)
      for (const label of labelKeys(facts)) add(this.#byLabel, label, key)
      for (const port of facts.namedPorts) add(this.#byPort, portKey(port), key)
    }
    return true
  }

  /** The pods that may have to be planned again. */
  setNamespace(name: string, labels: Labels | undefined): Iterable<string> {
    if (equalJson(this.#namespaces.get(name), labels)) return []
    if (labels) this.#namespaces.set(name, labels)
    else this.#namespaces.delete(name)
    return this.#byNamespace.get(name) ?? []
  }

  /** Undefined for each pod that is not selected, so that a caller can pause. */
  *selected(
    selection: Selection,
    { isLocal = false }: { readonly isLocal?: boolean } = {},
  ): Generator<string | undefined, void> {
    const { namespace, podSelector } = selection
    const label = requiredLabel(podSelector)
    const names = namespace === undefined ? this.#byNamespace.keys() : [namespace]
    for (const name of names) {
      const labels = this.#namespaces.get(name)
      if (namespace === undefined && !namespaceMatches(selection, labels)) continue
      const keys = label === '' ? this.#byNamespace.get(name) : this.#byLabel.get(`${name} ${label}`)
      for (const key of keys ?? []) {
        const pod = this.#pods.get(key)
        const isSelected = pod && (pod.isLocal || !isLocal) && selectionMatches(selection, pod, labels)
        yield isSelected ? key : undefined
      }
    }
  }

  /** An upper limit of the number of selected pods, without looking at each. */
  candidates({ namespace, podSelector }: Selection): number {
    const label = requiredLabel(podSelector)
    const inNamespace = (name: string): number =>
      (label === '' ? this.#byNamespace.get(name) : this.#byLabel.get(`${name} ${label}`))?.size ?? 0
    if (namespace !== undefined) return inNamespace(namespace)
    if (label === '') return this.#pods.size
    return this.#byNamespace.keys().reduce((sum, name) => sum + inNamespace(name), 0)
  }

  withPort(port: Pick<NamedPort, 'protocol' | 'name'>): Iterable<string> {
    return this.#byPort.get(portKey(port)) ?? []
  }
}

function labelKeys({ namespace, labels }: PodFacts): readonly string[] {
  return labelTexts(labels).map(label => `${namespace} ${label}`)
}

export function portKey({ protocol, name }: Pick<NamedPort, 'protocol' | 'name'>): string {
  return `${protocol} ${name}`
}

function add(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value)
  if (keys) keys.add(key)
  else index.set(value, new Set([key]))
}

function remove(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value)
  keys?.delete(key)
  if (keys?.size === 0) index.delete(value)
}
