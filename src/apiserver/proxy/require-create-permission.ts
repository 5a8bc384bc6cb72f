import { forbidden } from '#/api/errors.ts'
import { attributesOf, type Authorizer } from '../authz/authorizer.ts'
import type { RequestScope } from '../handlers/request-scope.ts'

/**
 * WebSocket clients use GET, but exec and the like require `create` permission, so that read permission is
 * not enough. Throws ApiError 403.
 */
export async function requireCreatePermission(
  { context, info }: RequestScope,
  authorizer: Authorizer,
): Promise<void> {
  if (info.verb === 'create') return
  const attributes = { ...attributesOf(context.user, info), verb: 'create' }
  const { decision, reason } = await authorizer.authorize(attributes)
  if (decision !== 'allow') throw forbidden({ group: '', kind: info.resource, name: info.name }, reason)
}
