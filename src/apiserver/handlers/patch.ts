/** PATCH with JSON patch, merge patch, strategic merge patch, or server-side apply, which can also create. */
import {
  applyConfiguration,
  validateAppliedObject,
  conflictError,
  type ApplyOptions,
  type JsonObject,
} from '#/api/apply.ts'
import { decode } from '#/api/decoding/decode.ts'
import { describeType } from '#/api/decoding/decode-scalar.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { badRequest } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { isObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import { formatTime } from '#/api/text/time.ts'
import { readYaml } from '#/api/text/yaml.ts'
import type { YamlDuplicateKey } from '#/api/text/yaml-values.ts'
import { resetFieldsOf } from '../registry/reset-fields.ts'
import { updateObject } from '../registry/update-object.ts'
import { runWithConversions } from '../registry/managed-fields.ts'
import { isTrue } from '../request-info.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'
import { keyOfScope, type RequestScope } from './request-scope.ts'
import { bodyBytes } from './decode-body.ts'
import { decodePatched, patchKindOf, readPatch } from './read-patch.ts'
import { checkNames } from './update.ts'
import { readWriteOptions, type WriteOptions } from './write-options.ts'
import { writeRequest } from './write-request.ts'

export async function patch(scope: RequestScope): Promise<ApiResponse> {
  const kind = patchKindOf(scope)
  keyOfScope(scope)
  const options = readWriteOptions(scope, 'PatchOptions')
  return kind === 'apply' ? apply(scope, options) : change(scope, options)
}

async function change(scope: RequestScope, options: WriteOptions): Promise<ApiResponse> {
  const { registry, resource, view } = scope
  const applyTo = await readPatch(scope, resource.schema, options)
  const { stored } = await updateObject(registry, writeRequest(scope, options), {
    change: oldObject => checkObject(scope, applyTo(oldObject as unknown as JsonValue)),
    ...(scope.strategy && { strategy: scope.strategy }),
  })
  return { status: 200, body: await objectBody(view, stored, scope) }
}

/** A patch must not change the identity of the object. */
function checkObject(scope: RequestScope, object: KubernetesObject): KubernetesObject {
  checkNames(object, scope)
  return object
}

async function apply(scope: RequestScope, options: WriteOptions): Promise<ApiResponse> {
  const { registry, resource, view, info } = scope
  const { sent, applied } = readApplied(scope, await bodyBytes(scope), options)
  const outcome = async (live: KubernetesObject | undefined): Promise<KubernetesObject> => {
    const object = await runWithConversions(registry, resource, convert =>
      applyTo(scope, options, {
        live,
        applied,
        schema: resource.schema,
        apiVersion: apiVersionOf(resource),
        convert,
        resetFields: resetFieldsOf(resource, info.subresource),
      }),
    )
    // Conflicts come first.
    checkNames(sent, scope)
    return object
  }
  // Without a field manager, because the managed fields are already those of the applied configuration.
  const request = writeRequest(scope, { ...options, fieldManager: undefined })
  const { stored, created } = await updateObject(registry, request, {
    change: oldObject => outcome(oldObject),
    ...(info.subresource === '' && { create: () => outcome(undefined) }),
    ...(scope.strategy && { strategy: scope.strategy }),
  })
  return { status: created ? 201 : 200, body: await objectBody(view, stored, scope) }
}

export interface Applying extends Pick<ApplyOptions, 'apiVersion' | 'convert' | 'resetFields'> {
  readonly schema: StructSchema
  readonly live: KubernetesObject | undefined
  readonly applied: KubernetesObject
}

/** Applies a configuration to the live object. Throws ApiError on conflicts. */
export function applyTo(
  { registry, context, info }: RequestScope,
  options: WriteOptions,
  applying: Applying,
): KubernetesObject {
  const { query } = context.request
  const { object, conflicts } = applyConfiguration({
    ...applying,
    live: applying.live && jsonOf(applying.live),
    applied: jsonOf(applying.applied),
    manager: options.fieldManager,
    force: query.has('force') && isTrue(query.get('force')),
    now: formatTime(registry.platform.clock.now()),
    ...(info.subresource && { subresource: info.subresource }),
  })
  if (conflicts) throw conflictError(conflicts)
  // Drops empty values, which are kept only for ownership.
  return objectOf(decode(object, applying.schema).value)
}

interface Applied {
  readonly sent: KubernetesObject
  /** With the name and namespace of the path. */
  readonly applied: KubernetesObject
}

function readApplied(scope: RequestScope, bytes: Uint8Array, options: WriteOptions): Applied {
  const { resource, info } = scope
  const { sent, duplicateKeys } = parseApplied(bytes)
  requireKind(sent, resource)
  // Rejects values that decoding would drop or convert, because a field manager could not own them.
  validateAppliedObject(sent, resource.schema)
  reportDuplicates(scope, duplicateKeys, options)
  const named = withName(sent, info.name)
  const { schema } = resource
  const decoded = decodePatched(scope, { patch: named, patched: named, schema, options, keepsEmpty: true })
  const namespaced = resource.scope === 'Namespaced'
  const place = { name: info.name, ...(namespaced && { namespace: info.namespace }) }
  return { sent: decoded, applied: { ...decoded, metadata: { ...decoded.metadata, ...place } } }
}

export interface ParsedConfiguration {
  readonly sent: JsonObject
  readonly duplicateKeys: readonly YamlDuplicateKey[]
}

export function parseApplied(bytes: Uint8Array): ParsedConfiguration {
  try {
    const { value, duplicateKeys } = readYaml(bytes)
    if (value === null) return { sent: {}, duplicateKeys }
    if (isObject(value)) return { sent: value, duplicateKeys }
    const found = `cannot unmarshal ${describeType(value)} into Go value of type map[string]interface {}`
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: json: ${found}`)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
  }
}

/** Duplicate keys are errors or warnings, according to the field validation. */
export function reportDuplicates(
  { context }: Pick<RequestScope, 'context'>,
  duplicateKeys: readonly YamlDuplicateKey[],
  { fieldValidation }: Pick<WriteOptions, 'fieldValidation'>,
): void {
  if (fieldValidation === 'Ignore' || duplicateKeys.length === 0) return
  const problems = duplicateKeys.map(({ key, line }) => `line ${line}: key ${quote(key)} already set in map`)
  if (fieldValidation === 'Strict') {
    const head = 'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:'
    throw badRequest([head, ...problems].join('\n  '))
  }
  for (const problem of problems) context.warnings.add(problem)
}

function requireKind(sent: JsonObject, resource: Resource): void {
  const [kind, apiVersion] = [sent['kind'], sent['apiVersion']].map(each =>
    typeof each === 'string' ? each : '',
  )
  if (kind === resource.kind && apiVersion === apiVersionOf(resource)) return
  const { group = '', version = '' } = parseGroupVersion(apiVersion ?? '') ?? {}
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${kind}`)
}

/** The name defaults to the one in the path. */
function withName(value: JsonObject, name: string): JsonObject {
  const metadata = value['metadata']
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    return { ...value, metadata: { name } }
  return metadata['name'] === undefined ? { ...value, metadata: { ...metadata, name } } : value
}
