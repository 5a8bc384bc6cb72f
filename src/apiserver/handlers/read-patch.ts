/** Reads the patch of a request as a function of the object it is applied to. */
import { decode } from '#/api/decoding/decode.ts'
import type { TypeMeta } from '#/api/decoding/type-meta.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { badRequest, unsupportedMediaType, type ApiError } from '#/api/errors.ts'
import { invalid, invalidObject } from '#/api/field-error.ts'
import { otherKindError } from '#/api/decoding/strict-decode.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { findDuplicateKeys, hasDuplicateKeys } from '#/api/text/find-duplicate-keys.ts'
import { formatJsonPath } from '#/api/text/json-path.ts'
import { parseJson, readText, stringifyJson } from '#/api/text/json.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { applyPatch, type PatchKind } from '#/api/patch.ts'
import { formatGoValue, quote } from '#/api/text/quote.ts'
import { apiVersionOf, isCustomKind, type Resource } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import { withAbsentFields } from '#/api/zero-fields.ts'
import type { RequestScope } from './request-scope.ts'
import { bodyBytes } from './decode-body.ts'
import type { WriteOptions } from './write-options.ts'

export const patchMediaTypes: ReadonlyMap<string, PatchKind | 'apply'> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
])

/** Throws ApiError 415 if the resource does not support the patch type. */
export function patchKindOf({ context, resource }: RequestScope): PatchKind | 'apply' {
  const contentType = (context.request.headers['content-type'] ?? '').split(';')[0]!
  const kind = patchMediaTypes.get(contentType)
  // Custom resources do not support strategic merge patch, because their schemas have no merge keys.
  const isCustom = isCustomKind(resource)
  if (kind !== undefined && !(kind === 'strategic' && isCustom)) return kind
  throw unsupportedMediaType(
    [...patchMediaTypes.keys()].filter(each => !isCustom || !each.includes('strategic')),
  )
}

/** Returns a function, because the patch is reapplied after a conflict. */
export async function readPatch(
  scope: RequestScope,
  schema: StructSchema,
  options: WriteOptions,
): Promise<(oldObject: JsonValue) => KubernetesObject> {
  const kind = patchKindOf(scope)
  if (kind === 'apply')
    throw unsupportedMediaType([...patchMediaTypes.keys()].filter(each => !each.includes('apply')))
  const bytes = await bodyBytes(scope)
  let parsed: ParsedPatch | undefined
  return oldObject => {
    // Parsed only for an object that exists, since a missing one is reported first.
    parsed ??= parsePatch(kind, bytes)
    const { patch, problems } = parsed
    // The paths of a JSON patch may name fields that clients see although they are absent.
    const hasPaths = kind === 'json' && isObject(oldObject)
    const current = hasPaths ? withAbsentFields(oldObject, schema) : oldObject
    const patched = applyPatch(kind, { current, patch, schema })
    // The patch changes nothing, and an object that is stored is valid against the schema.
    if (patched === current && isObject(oldObject) && problems.length === 0) return objectOf(oldObject)
    const isUnstructured = kind === 'strategic'
    const decoding = { patch, patched, schema, options, isUnstructured, problems }
    const { kind: is = '', apiVersion = '' } = objectOf(isObject(oldObject) ? oldObject : {})
    // A strategic merge patch cannot change the kind.
    if (isCustomKind(scope.resource) && isObject(patched)) refuseOtherKind(scope, decoding)
    if (!isUnstructured && isObject(patched))
      requireKind(patched, { kind: is, apiVersion }, problem =>
        refusal(shownPatch(scope.resource, decoding), problem),
      )
    return { ...decodePatched(scope, decoding), kind: is, apiVersion }
  }
}

/** Throws if a patch gives a custom resource another kind of the same version, which validation refuses. */
function refuseOtherKind({ resource, context, info }: RequestScope, decoding: Patched): void {
  const { patched, options, problems = [] } = decoding
  const { kind, apiVersion } = objectOf(patched as JsonObject)
  if (typeof kind !== 'string' || kind === resource.kind || apiVersion !== apiVersionOf(resource)) return
  if (options.fieldValidation === 'Warn') for (const problem of problems) context.warnings.add(problem)
  throw otherKindError({ ...resource, kind }, resource.kind, info.name)
}

/** Throws if a patch changes the kind; it may remove it. */
function requireKind(
  { kind, apiVersion }: JsonObject,
  expected: TypeMeta,
  refuse: (problem: string) => ApiError,
): void {
  const sent = {
    kind: typeof kind === 'string' ? kind : expected.kind,
    apiVersion: typeof apiVersion === 'string' ? apiVersion : expected.apiVersion,
  }
  if (sent.apiVersion !== expected.apiVersion)
    throw refuse(`no kind ${quote(sent.kind)} is registered for version ${quote(sent.apiVersion)}`)
  if (sent.kind === expected.kind) return
  const { group, version } = parseGroupVersion(expected.apiVersion)!
  const internal = group === '' ? 'core' : group.split('.', 1)[0]
  const types = `(${version}.${sent.kind}) to (${internal}.${expected.kind})`
  throw refuse(`converting ${types}: unknown conversion`)
}

interface ParsedPatch {
  readonly patch: JsonValue
  /** Duplicate keys, and unknown members of operations. */
  readonly problems: readonly string[]
}

function parsePatch(kind: PatchKind, bytes: Uint8Array): ParsedPatch {
  try {
    const patch = parseJson(bytes)
    const duplicates = hasDuplicateKeys(bytes, patch) ? findDuplicateKeys(readText(bytes)) : []
    const problems = [
      ...(kind === 'json' ? unknownMembers(patch) : []),
      ...duplicates.map(({ path }) => `duplicate field ${quote(formatJsonPath(path))}`),
    ]
    return { patch, problems: kind === 'json' ? problems.map(each => `json patch ${each}`) : problems }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(kind === 'strategic' ? error.message : `error decoding patch: ${error.message}`)
  }
}

const operationMembers: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value'])

function unknownMembers(patch: JsonValue): readonly string[] {
  if (!Array.isArray(patch)) return []
  return patch.flatMap((operation, index) =>
    Object.keys(isObject(operation) ? operation : {})
      .filter(key => !operationMembers.has(key))
      .map(key => `unknown field ${quote(formatJsonPath([index, key]))}`),
  )
}

export interface Patched {
  readonly patch: JsonValue
  /** The patched object. */
  readonly patched: JsonValue
  readonly schema: StructSchema
  readonly options: WriteOptions
  readonly keepsEmpty?: boolean
  /** True if the patch was merged into the object's fields, and not into its JSON document. */
  readonly isUnstructured?: boolean
  /** Problems of the patch itself. */
  readonly problems?: readonly string[]
}

/** Validates a patched object against the schema. */
export function decodePatched({ context, resource }: RequestScope, decoding: Patched): KubernetesObject {
  const { options, problems: found = [] } = decoding
  const refuse = (problem: string): ApiError => refusal(shownPatch(resource, decoding), problem)
  const { value, unknownFields } = decodeOrRefuse(decoding, refuse)
  const problems = [...found, ...unknownFields.map(field => `unknown field ${quote(field)}`)]
  if (problems.length > 0 && options.fieldValidation === 'Strict')
    throw refuse(`strict decoding error: ${problems.join(', ')}`)
  if (options.fieldValidation === 'Warn') for (const problem of problems) context.warnings.add(problem)
  return objectOf(value)
}

/** The patch, or the patched document. That of a Secret must not appear in error messages, which may be logged. */
function shownPatch({ group, plural }: Resource, { patch, patched, isUnstructured }: Patched): string {
  if (group === '' && plural === 'secrets') return '(hidden)'
  return isUnstructured === true ? formatGoValue(patch) : stringifyJson(patched)
}

function decodeOrRefuse(
  { patched, schema, keepsEmpty = false, isUnstructured = false }: Patched,
  refuse: (problem: string) => ApiError,
): ReturnType<typeof decode> {
  try {
    return decode(patched, schema, { keepsEmpty, isUnstructured })
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw refuse(error.message)
  }
}

/** The error is about the request, so it names no kind and object. */
function refusal(shown: string, problem: string): ApiError {
  return invalidObject({ group: '', kind: '', name: '' }, [invalid('patch', shown, problem)])
}
