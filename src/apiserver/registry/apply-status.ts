/** Server-side apply of a status by the API server itself: the manager owns what it applies, and nothing else. */
import { applyConfiguration, conflictError } from '#/api/apply.ts'
import { decode } from '#/api/decoding/decode.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import { runWithConversions } from './managed-fields.ts'
import type { Registry } from './registry.ts'
import { resetFieldsOf } from './reset-fields.ts'
import { systemWriteRequest } from './system-write-request.ts'
import { updateObject } from './update-object.ts'

export interface AppliedStatus {
  readonly manager: string
  /** The name and the status. */
  readonly applied: KubernetesObject
}

export async function applyStatus(
  registry: Registry,
  resource: Resource,
  { manager, applied }: AppliedStatus,
): Promise<void> {
  const { fieldManager: _, ...request } = systemWriteRequest(resource, applied.metadata.name ?? '')
  const subresource = 'status'
  const change = (live: KubernetesObject): Promise<KubernetesObject> =>
    runWithConversions(registry, resource, convert => {
      const { object, conflicts } = applyConfiguration({
        live: jsonOf(live),
        applied: jsonOf(applied),
        manager,
        force: true,
        now: formatTime(registry.platform.clock.now()),
        schema: resource.schema,
        apiVersion: apiVersionOf(resource),
        convert,
        resetFields: resetFieldsOf(resource, subresource),
        subresource,
      })
      if (conflicts) throw conflictError(conflicts)
      return objectOf(decode(object, resource.schema).value)
    })
  await updateObject(registry, { ...request, subresource }, { change })
}
