import type { JsonValue } from '#/api/text/json-value.ts'
import type { GroupVersionKind, Resource } from '#/api/resource.ts'
import type { UserInfo } from '../../request.ts'
import type { AdmissionAttributes } from '../admission-chain.ts'
import { matchedResource, type MatchedResource } from './resource-rules.ts'
import { namespaceOf } from './selectors.ts'

export interface RequestFields {
  readonly [name: string]: JsonValue
}

/**
 * The fields of an AdmissionReview request, and of the CEL variable `request`, without object and oldObject.
 */
export function requestFields(
  request: AdmissionAttributes,
  { resource, subresource, kind }: MatchedResource,
): RequestFields {
  const asked = matchedResource(request.resource, request.subresource)
  const namespace = namespaceOf(request)
  const { name } = request
  return {
    kind: kindFields(kind),
    resource: resourceFields(resource),
    ...(subresource && { subResource: subresource }),
    requestKind: kindFields(asked.kind),
    requestResource: resourceFields(asked.resource),
    ...(asked.subresource && { requestSubResource: asked.subresource }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation: request.operation,
    userInfo: userFields(request.user),
    dryRun: request.dryRun,
    options: optionsOf(request),
  }
}

function kindFields({ group, version, kind }: GroupVersionKind): RequestFields {
  return { group, version, kind }
}

function resourceFields({ group, version, plural }: Resource): RequestFields {
  return { group, version, resource: plural }
}

function userFields({ username, uid, groups, extra }: UserInfo): RequestFields {
  return {
    ...(username && { username }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra && Object.keys(extra).length > 0 && { extra: extra as RequestFields }),
  }
}

/** CONNECT requests have no options; what they carry is the object itself. */
function optionsOf({ operation, options }: AdmissionAttributes): JsonValue {
  return operation === 'CONNECT' ? null : (options as JsonValue)
}
