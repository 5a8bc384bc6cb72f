import { excludeFields, type ResetFields } from '#/api/apply.ts'
import type { Resource } from '#/api/resource.ts'
import { restoresMetadata, rulesOf } from './resource-strategy.ts'

const withoutStatus = excludeFields([['status']])
const withoutSpec = excludeFields([['spec']])
const withoutSpecAndMetadata = excludeFields([['spec'], ['metadata']])

/** Fields that the path cannot set; they are removed from the managed fields of a write. */
export function resetFieldsOf(resource: Resource, subresource: string): ResetFields | undefined {
  const given = rulesOf(resource).resetFields?.[subresource]
  if (given) return excludeFields(given)
  if (!resource.subresources.has('status')) return undefined
  if (subresource !== 'status') return withoutStatus
  return restoresMetadata(resource) ? withoutSpecAndMetadata : withoutSpec
}
