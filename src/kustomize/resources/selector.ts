import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { compileRegularExpression } from '#/base/regular-expression.ts'
import type { Resource } from './resource.ts'
import { effectiveNamespace, type Gvk, type ResourceId } from './resource-id.ts'

/** Selects resources; its members are regular expressions for the whole text, and label selectors. */
export interface ResourceSelector extends Partial<ResourceId> {
  readonly annotationSelector?: string
  readonly labelSelector?: string
}

export interface CompiledSelector {
  matchesGvk(gvk: Gvk): boolean
  matchesName(name: string): boolean
  matchesNamespace(namespace: string): boolean
  /** True if labels and annotations match. */
  matchesMetadata(resource: Resource): boolean
}

export function compileSelector(selector: ResourceSelector): CompiledSelector {
  const group = wholeText(selector.group)
  const version = wholeText(selector.version)
  const kind = wholeText(selector.kind)
  const name = wholeText(selector.name)
  const namespace = wholeText(selector.namespace)
  return {
    matchesGvk: gvk => group(gvk.group) && version(gvk.version) && kind(gvk.kind),
    matchesName: name,
    matchesNamespace: namespace,
    matchesMetadata: ({ labels, annotations }) =>
      parseSelector(selector.labelSelector ?? '').matches(labels) &&
      parseSelector(selector.annotationSelector ?? '').matches(annotations),
  }
}

function wholeText(pattern = ''): (text: string) => boolean {
  if (pattern === '') return () => true
  const expression = compileRegularExpression(`^(?:${pattern})$`)
  return text => expression.test(text)
}

/** The resources whose present or original name and namespace match. */
export function selectResources(resources: Iterable<Resource>, selector: ResourceSelector): Resource[] {
  const compiled = compileSelector(selector)
  return [...resources].filter(resource => {
    const ids = [resource.originalId, resource.currentId]
    return (
      ids.some(id => compiled.matchesNamespace(effectiveNamespace(id))) &&
      ids.some(id => compiled.matchesName(id.name)) &&
      compiled.matchesGvk(resource.gvk) &&
      compiled.matchesMetadata(resource)
    )
  })
}

/** As Go prints a selector. */
export function formatSelector(selector: ResourceSelector, id: string): string {
  return `${id}:a=${selector.annotationSelector ?? ''}:l=${selector.labelSelector ?? ''}`
}
