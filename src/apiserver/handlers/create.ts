import { createObject } from '../registry/create-object.ts'
import type { ApiResponse } from '../request.ts'
import type { Call } from './call.ts'
import { decodeBody } from './decode-body.ts'
import { readWriteOptions } from './write-options.ts'
import { writeRequest } from './write-request.ts'

export async function create(call: Call): Promise<ApiResponse> {
  const { registry, resource, view } = call
  const options = readWriteOptions(call, 'CreateOptions')
  const object = await decodeBody(call, {
    kind: resource,
    schema: resource.schema,
    fieldValidation: options.fieldValidation,
  })
  const stored = await createObject(registry, writeRequest(call, options), object)
  return { status: 201, body: view.body(stored) }
}
