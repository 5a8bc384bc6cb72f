/** DELETE of one object. */
import { deleteObject } from '../registry/delete-object.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import { valueBody } from '../view.ts'
import { keyOfScope, type RequestScope } from './request-scope.ts'
import { readDeleteOptions } from './delete-options.ts'
import { writeRequest } from './write-request.ts'

export async function deleteHandler(scope: RequestScope): Promise<ApiResponse> {
  // Throws for names that cannot exist.
  keyOfScope(scope)
  const options = await readDeleteOptions(scope)
  const outcome = await deleteObject(scope.registry, writeRequest(scope, options), options)
  if (outcome.isGone && !returnsObject(scope))
    return { status: 200, body: valueBody(goneStatus(scope, outcome.stored), scope.view.negotiated) }
  return { status: 200, body: await objectBody(scope.view, outcome.stored, scope) }
}

/** Pods and some other kinds return the deleted object; most return a Status. */
function returnsObject({ resource }: RequestScope): boolean {
  return rulesOf(resource).returnDeletedObject !== undefined
}

function goneStatus({ resource }: RequestScope, stored: StoredObject): object {
  const { name, uid } = stored.object.metadata
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(resource.group && { group: resource.group }), kind: resource.plural, uid },
  }
}
