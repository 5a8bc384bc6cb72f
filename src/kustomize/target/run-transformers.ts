import { equalJson } from '#/api/text/json-value.ts'
import { cloneValue } from '../documents/value.ts'
import { KustomizeError } from '../kustomize-error.ts'
import type { Origin } from '../resources/origin.ts'
import { formatId } from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'

/** A configured generator or transformer. */
export interface Step {
  readonly kind: string
  readonly run: (resources: ResourceList) => void | Promise<void>
  readonly origin: Origin | undefined
}

export async function runTransformers(steps: readonly Step[], resources: ResourceList): Promise<void> {
  for (const { run, origin } of steps) {
    await run(resources)
    if (origin !== undefined) {
      for (const resource of resources) {
        if (resource.origin === undefined) resource.origin = origin
        else resource.transformations = [...resource.transformations, origin]
      }
    }
    resources.dropDeleted()
  }
}

/** A validator may set this label and change nothing else. */
const validatedBy = 'validated-by'

export async function runValidators(steps: readonly Step[], resources: ResourceList): Promise<void> {
  for (const { run } of steps) {
    const before = resources.toArray().map(resource => cloneValue(resource.object))
    await run(resources)
    const after = resources.toArray()
    for (const [index, resource] of after.entries()) {
      const validated = resource.copy()
      const { [validatedBy]: _validator, ...labels } = validated.labels
      if (validatedBy in resource.labels) validated.setStringMap('labels', labels)
      if (after.length === before.length && equalJson(before[index], validated.object)) continue
      const id = formatId(resource.currentId)
      throw new KustomizeError(`validator shouldn't modify the resource map: ${id} differs`)
    }
  }
}
