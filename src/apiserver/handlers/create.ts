import { createObject } from '../registry/create-object.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import type { RequestScope } from './request-scope.ts'
import { decodeBody } from './decode-body.ts'
import { readWriteOptions } from './write-options.ts'
import { writeRequest } from './write-request.ts'

export async function create(scope: RequestScope): Promise<ApiResponse> {
  const { registry, resource, view } = scope
  const options = readWriteOptions(scope, 'CreateOptions')
  const object = await decodeBody(scope, {
    kind: resource,
    schema: resource.schema,
    fieldValidation: options.fieldValidation,
  })
  const stored = await createObject(registry, writeRequest(scope, options), object)
  return { status: 201, body: await objectBody(view, stored, scope) }
}
