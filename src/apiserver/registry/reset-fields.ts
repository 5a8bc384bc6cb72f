import { exceptFields, onlyFields, type ResetFields } from '#/api/apply.ts'
import type { Resource } from '#/api/resource.ts'

const withStatus = onlyFields([['status']])
const withoutStatus = exceptFields([['status']])

/** Fields that a path may not set are taken out of what a write owns: nobody comes to own them this way. */
export function resetFieldsOf(resource: Resource, subresource: string): ResetFields | undefined {
  if (!resource.subresources.has('status')) return undefined
  return subresource === 'status' ? withStatus : withoutStatus
}
