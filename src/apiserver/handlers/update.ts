/** PUT of an object or subresource. */
import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { updateObject } from '../registry/update-object.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import { keyOfScope, type RequestScope } from './request-scope.ts'
import { decodeBody } from './decode-body.ts'
import { readWriteOptions } from './write-options.ts'
import { writeRequest } from './write-request.ts'

export async function update(scope: RequestScope): Promise<ApiResponse> {
  const { registry, resource, view, info } = scope
  keyOfScope(scope)
  const options = readWriteOptions(scope, 'UpdateOptions')
  const sent = await decodeBody(scope, {
    kind: resource,
    schema: resource.schema,
    fieldValidation: options.fieldValidation,
  })
  checkNames(sent, scope)
  const mayCreate = rulesOf(resource).allowCreateOnUpdate === true && info.subresource === ''
  const { stored, created } = await updateObject(registry, writeRequest(scope, options), {
    change: () => sent,
    uid: sent.metadata.uid,
    ...(scope.strategy && { strategy: scope.strategy }),
    ...(mayCreate && { create: async () => sent }),
  })
  return { status: created ? 201 : 200, body: await objectBody(view, stored, scope) }
}

/** The name and namespace of the body must match the path. */
export function checkNames(
  { metadata }: KubernetesObject,
  { info, resource }: Pick<RequestScope, 'info' | 'resource'>,
): void {
  if (!metadata.name) {
    const problem = `the name of the object (${info.name} based on URL) was undeterminable`
    throw badRequest(`${problem}: name must be provided`)
  }
  if (metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${info.name})`,
    )
  }
  if (resource.scope === 'Namespaced' && metadata.namespace && metadata.namespace !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}
