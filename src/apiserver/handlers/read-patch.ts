/** Reads the patch of a request as a function of the object it is applied to. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { badRequest, unsupportedMediaType, type ApiError } from '#/api/errors.ts'
import { invalid, invalidObject } from '#/api/field-error.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { applyPatch, type PatchKind } from '#/api/patch.ts'
import { quote } from '#/api/text/quote.ts'
import { isCustomKind, type Resource } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import type { RequestScope } from './request-scope.ts'
import { bodyBytes } from './decode-body.ts'
import type { WriteOptions } from './write-options.ts'

const patchMediaTypes: ReadonlyMap<string, PatchKind | 'apply'> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
])

/** Throws ApiError 415 if the resource does not support the patch type. */
export function patchKindOf({ context, resource }: RequestScope): PatchKind | 'apply' {
  const contentType = (context.request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
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
  const patch = parseOrRefuse(await bodyBytes(scope))
  return oldObject =>
    decodePatched(scope, {
      patch,
      patched: applyPatch(kind, { current: oldObject, patch, schema }),
      schema,
      options,
    })
}

function parseOrRefuse(bytes: Uint8Array): JsonValue {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`error decoding patch: ${error.message}`)
  }
}

export interface Patched {
  readonly patch: JsonValue
  /** The patched object. */
  readonly patched: JsonValue
  readonly schema: StructSchema
  readonly options: WriteOptions
  readonly keepsEmpty?: boolean
}

/** Validates a patched object against the schema. */
export function decodePatched(
  { context, resource }: RequestScope,
  { patch: sent, patched, schema, options, keepsEmpty = false }: Patched,
): KubernetesObject {
  const patch = isSecret(resource) ? hidden : sent
  const { value, unknownFields } = decodeOrRefuse({ patch, patched, schema, keepsEmpty })
  const problems = unknownFields.map(field => `unknown field ${quote(field)}`)
  if (problems.length > 0 && options.fieldValidation === 'Strict') {
    throw refusal(patch, `strict decoding error: ${problems.join(', ')}`)
  }
  if (options.fieldValidation === 'Warn') for (const problem of problems) context.warnings.add(problem)
  return objectOf(value)
}

/** The patch of a Secret must not appear in error messages, which may be logged. */
function isSecret({ group, plural }: Resource): boolean {
  return group === '' && plural === 'secrets'
}

const hidden = '(hidden)'

function decodeOrRefuse({
  patch,
  patched,
  schema,
  keepsEmpty,
}: Omit<Required<Patched>, 'options'>): ReturnType<typeof decode> {
  try {
    return decode(patched, schema, { keepsEmpty })
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw refusal(patch, error.message)
  }
}

/** The error is about the request, so it names no kind and object. */
function refusal(patch: JsonValue, problem: string): ApiError {
  const shown = patch === hidden ? hidden : stringifyJson(patch)
  return invalidObject({ group: '', kind: '', name: '' }, [invalid('patch', shown, problem)])
}
