/** PUT of an object or subresource. */
import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { updateObject } from '../registry/update-object.ts'
import { rulesOf } from '../registry/write.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../table.ts'
import { keyOfCall, type Call } from './call.ts'
import { decodeBody } from './decode-body.ts'
import { whenInitialized } from './when-initialized.ts'
import { readWriteOptions } from './write-options.ts'
import { writeRequest } from './write-request.ts'

export async function update(call: Call): Promise<ApiResponse> {
  const { registry, resource, view, info } = call
  keyOfCall(call)
  const options = readWriteOptions(call, 'UpdateOptions')
  const sent = await decodeBody(call, {
    kind: resource,
    schema: resource.schema,
    fieldValidation: options.fieldValidation,
  })
  checkNames(sent, call)
  const mayCreate = rulesOf(resource).allowCreateOnUpdate === true && info.subresource === ''
  const request = writeRequest(call, options)
  const { stored, created } = await updateObject(registry, request, {
    change: () => sent,
    ...(call.part && { part: call.part }),
    ...(mayCreate && { create: async () => sent }),
  })
  if (created)
    return { status: 201, body: objectBody(view, await whenInitialized(call, request, stored), call) }
  return { status: 200, body: objectBody(view, stored, call) }
}

/** The name and namespace of the body must match the path. */
export function checkNames(
  { metadata = {} }: KubernetesObject,
  { info, resource }: Pick<Call, 'info' | 'resource'>,
): void {
  if (!metadata.name) throw badRequest('name must be provided')
  if (metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${info.name})`,
    )
  }
  if (resource.scope === 'Namespaced' && metadata.namespace && metadata.namespace !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}
