import { createObject } from '../registry/create-object.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../table.ts'
import type { Call } from './call.ts'
import { decodeBody } from './decode-body.ts'
import { whenInitialized } from './when-initialized.ts'
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
  const request = writeRequest(call, options)
  const stored = await createObject(registry, request, object)
  return { status: 201, body: objectBody(view, await whenInitialized(call, request, stored), call) }
}
