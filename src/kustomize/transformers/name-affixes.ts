import { textOf } from '../documents/value.ts'
import { changeField, type FieldSpec } from '../fields/field-spec.ts'
import { isSelected, type Gvk } from '../resources/resource-id.ts'
import type { Resource } from '../resources/resource.ts'

export interface NameAffix {
  readonly position: 'prefix' | 'suffix'
  readonly text: string
  readonly specs: readonly FieldSpec[]
}

/** Kinds whose names have a meaning. */
const fixedNames: readonly Partial<Gvk>[] = [
  { kind: 'CustomResourceDefinition' },
  { group: 'apiregistration.k8s.io', kind: 'APIService' },
  { kind: 'Namespace' },
]

/** Adds a prefix or suffix to names, and records it: it tells apart resources of the same original name. */
export function addNameAffix(resources: Iterable<Resource>, { position, text, specs }: NameAffix): void {
  for (const resource of resources) {
    const id = resource.originalId
    if (fixedNames.some(gvk => isSelected(id, gvk))) continue
    for (const spec of specs.filter(each => isSelected(id, each))) {
      if (spec.path === 'metadata/name' && text !== '') {
        const field = position === 'prefix' ? 'namePrefixes' : 'nameSuffixes'
        resource[field] = [...resource[field], text]
        resource.storePreviousId()
      }
      changeField(resource, spec, {
        createKind: 'ScalarNode',
        change: value => (position === 'prefix' ? text + textOf(value) : textOf(value) + text),
      })
    }
  }
}
