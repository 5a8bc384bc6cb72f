import { excludeFields, includeFields, type ResetFields } from '#/api/apply.ts'
import type { Resource } from '#/api/resource.ts'

const withStatus = includeFields([['status']])
const withoutStatus = excludeFields([['status']])

/** Fields that the path cannot set; they are removed from the managed fields of a write. */
export function resetFieldsOf(resource: Resource, subresource: string): ResetFields | undefined {
  if (!resource.subresources.has('status')) return undefined
  return subresource === 'status' ? withStatus : withoutStatus
}
