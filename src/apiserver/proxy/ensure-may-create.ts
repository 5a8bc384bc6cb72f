import { forbidden } from '#/api/errors.ts'
import { attributesOf, type Authorizer } from '../authz/authorizer.ts'
import type { Call } from '../handlers/call.ts'

/**
 * Clients that speak WebSocket have to ask with GET. To run something is to change something all the same: who may only
 * read must not. Throws ApiError 403.
 */
export async function ensureMayCreate({ context, info }: Call, authorizer: Authorizer): Promise<void> {
  if (info.verb === 'create') return
  const attributes = { ...attributesOf(context.user, info), verb: 'create' }
  const { decision, reason } = await authorizer.authorize(attributes)
  if (decision !== 'allow') throw forbidden({ group: '', kind: info.resource, name: info.name }, reason)
}
