import { wrongKind } from '../documents/value.ts'
import { changeField, type FieldSpec } from '../fields/field-spec.ts'
import { KustomizeError } from '../kustomize-error.ts'
import type { Replica } from '../load/kustomization.ts'
import { formatGvk, isSelected } from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'

export function setReplicas(resources: ResourceList, replica: Replica, specs: readonly FieldSpec[]): void {
  let isFound = false
  for (const spec of specs) {
    const matching = resources.havingId(id => id.name === (replica.name ?? '') && isSelected(id, spec))
    for (const resource of matching) {
      isFound = true
      changeField(resource, spec, {
        createKind: 'ScalarNode',
        change: value => {
          if (typeof value === 'object' && value !== null) throw wrongKind('ScalarNode', value)
          return replica.count ?? 0
        },
      })
    }
  }
  if (isFound) return
  const kinds = specs.map(spec => formatGvk(spec)).join(' ')
  throw new KustomizeError(
    `resource with name ${replica.name ?? ''} does not match a config with the following GVK [${kinds}]`,
  )
}
