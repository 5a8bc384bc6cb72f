import type { Labels } from '#/api/labels.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import { selectionMatches, type LabeledPod, type Selection } from './selection.ts'

/**
 * Finds the selections that match a pod without trying all of them: each is filed under its namespace and one
 * label that it requires.
 */
export class SelectionIndex {
  readonly #buckets = new Map<string, Map<string, Selection>>()

  add(selection: Selection): void {
    const key = bucketOf(selection)
    const bucket = this.#buckets.get(key) ?? new Map<string, Selection>()
    bucket.set(selection.key, selection)
    this.#buckets.set(key, bucket)
  }

  delete(selection: Selection): void {
    const key = bucketOf(selection)
    const bucket = this.#buckets.get(key)
    bucket?.delete(selection.key)
    if (bucket?.size === 0) this.#buckets.delete(key)
  }

  matching(pod: LabeledPod, namespaceLabels: Labels | undefined): readonly Selection[] {
    return bucketsOf(pod, namespaceLabels).flatMap(key =>
      [...(this.#buckets.get(key)?.values() ?? [])].filter(selection =>
        selectionMatches(selection, pod, namespaceLabels),
      ),
    )
  }
}

/** No namespace has this name. */
const anyNamespace = '*'

const nameLabel = 'kubernetes.io/metadata.name'

function bucketOf({ namespace, namespaceSelector, podSelector }: Selection): string {
  if (namespace !== undefined) return `${namespace} pod ${requiredLabel(podSelector)}`
  const name = namespaceSelector.requiresExact(nameLabel)
  if (name !== undefined) return `${anyNamespace} namespace ${nameLabel}=${name}`
  const pod = requiredLabel(podSelector)
  if (pod !== '') return `${anyNamespace} pod ${pod}`
  return `${anyNamespace} namespace ${requiredLabel(namespaceSelector)}`
}

/** A label that every pod or namespace of the selector has, `app=web`; empty if there may be none. */
export function requiredLabel({ requirements }: Selector): string {
  const found = requirements.find(
    ({ operator, values }) => values.length === 1 && ['=', '==', 'in'].includes(operator),
  )
  return found ? `${found.key}=${found.values[0]}` : ''
}

function bucketsOf(pod: LabeledPod, namespaceLabels: Labels | undefined): readonly string[] {
  const own = ['', ...labelTexts(pod.labels)]
  return [
    ...own.flatMap(each => [`${pod.namespace} pod ${each}`, `${anyNamespace} pod ${each}`]),
    ...['', ...labelTexts(namespaceLabels)].map(each => `${anyNamespace} namespace ${each}`),
  ]
}

export function labelTexts(labels: Labels | undefined): readonly string[] {
  return Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
}
