/** ConversionReview requests and responses, `apiextensions.k8s.io/v1` and `v1beta1`. */
import { formatFieldErrors } from '#/api/field-error.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { validateLabels } from '#/api/labels.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { get, isObject, withChanges, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { validateAnnotations } from '#/api/validate-metadata.ts'
import type { ReviewVersion } from '../webhook-client.ts'

export interface ConversionRequest {
  readonly version: ReviewVersion
  readonly uid: string
  readonly desiredAPIVersion: string
  readonly objects: readonly KubernetesObject[]
}

export function conversionReview(request: ConversionRequest): JsonValue {
  const { version, uid, desiredAPIVersion, objects } = request
  return {
    kind: 'ConversionReview',
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion, objects: objects.map(jsonOf) },
  }
}

/** The webhook returned an invalid response, or one that is not successful. */
export class ConversionResponseError extends Error {}

/** The converted objects, with the metadata of the originals. Throws ConversionResponseError. */
export function readConverted(answer: JsonValue, request: ConversionRequest): readonly KubernetesObject[] {
  const kind = kindText(request.objects[0])
  const converted = convertedObjects(answer, request, kind)
  const { length } = request.objects
  if (converted.length !== length) {
    throw new ConversionResponseError(
      `conversion webhook for ${kind} returned ${converted.length} objects, expected ${length}`,
    )
  }
  return request.objects.map((original, index) => {
    const at = `conversion webhook for ${kind} returned invalid converted object at index ${index}`
    return checkConverted(original, converted[index], { at, desiredAPIVersion: request.desiredAPIVersion })
  })
}

function convertedObjects(
  answer: JsonValue,
  { version, uid }: ConversionRequest,
  kind: string,
): readonly JsonValue[] {
  const fail = (reason: string): never => {
    throw new ConversionResponseError(`conversion webhook for ${kind} failed: ${reason}`)
  }
  const review = isObject(answer) ? answer : {}
  if (
    version === 'v1' &&
    (review['kind'] !== 'ConversionReview' || review['apiVersion'] !== reviewApiVersion)
  )
    fail(`expected webhook response of ${reviewApiVersion}, Kind=ConversionReview, got ${kindText(review)}`)
  const response = get(review, 'response')
  if (!isObject(response)) return fail('no response provided')
  const answered = text(get(response, 'uid'))
  // Webhooks of v1beta1 need not return the uid.
  if (version === 'v1' && answered !== uid)
    fail(`expected response.uid=${quote(uid)}, got ${quote(answered)}`)
  const result = get(response, 'result')
  const { status = '', message = '' } = isObject(result) ? result : {}
  if (status !== 'Success')
    fail(text(message) || `response.result.status was '${text(status)}', not 'Success'`)
  const converted = get(response, 'convertedObjects')
  return Array.isArray(converted) ? converted : []
}

const reviewApiVersion = 'apiextensions.k8s.io/v1'

interface Expected {
  /** Start of error messages. */
  readonly at: string
  readonly desiredAPIVersion: string
}

/** A webhook may change labels and annotations, and no other metadata. */
function checkConverted(
  original: KubernetesObject,
  converted: JsonValue | undefined,
  { at, desiredAPIVersion }: Expected,
): KubernetesObject {
  const fail = (reason: string): never => {
    throw new ConversionResponseError(`${at}: ${reason}`)
  }
  if (!isObject(converted)) return fail('it is not an object')
  const apiVersion = text(converted['apiVersion'])
  if (apiVersion !== desiredAPIVersion)
    fail(`invalid groupVersion (expected ${desiredAPIVersion}, received ${apiVersion})`)
  const kind = text(converted['kind'])
  if (kind !== original.kind) fail(`invalid kind (expected ${original.kind ?? ''}, received ${kind})`)
  const metadata = converted['metadata']
  if (!isObject(metadata)) return fail('missing metadata in converted object')
  for (const [name, label] of identifying) {
    const [is, was] = [text(metadata[name]), original.metadata[name] ?? '']
    if (is !== was) fail(`must have the same ${label}: ${was} != ${is}`)
  }
  const changes = new Map<string, JsonValue | undefined>()
  for (const name of ['labels', 'annotations'] as const) {
    const value = metadata[name] ?? undefined
    if (equalJson(value, original.metadata[name])) continue
    changes.set(name, value === undefined ? undefined : checkStrings(name, value, fail))
  }
  return objectOf({ ...converted, metadata: withChanges(metadataOf(original), changes) })
}

const identifying = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const

function checkStrings(
  name: 'labels' | 'annotations',
  value: JsonValue,
  fail: (reason: string) => never,
): JsonObject {
  if (!isObject(value)) return fail(`invalid metadata.${name} in converted object: it is not an object`)
  for (const [key, each] of Object.entries(value))
    if (typeof each !== 'string') fail(`metadata.${name}[${key}] must be a string in converted object`)
  const strings = value as Readonly<Record<string, string>>
  const errors =
    name === 'labels'
      ? validateLabels('metadata.labels', strings)
      : validateAnnotations(strings, 'metadata.annotation')
  if (errors.length > 0) fail(formatFieldErrors(errors))
  return value
}

function metadataOf(object: KubernetesObject): JsonObject {
  return jsonOf(object)['metadata'] as JsonObject
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** `stable.example.com/v1, Kind=CronTab`. */
export function kindText(object: KubernetesObject | JsonObject | undefined): string {
  const { apiVersion = '', kind = '' } = object ?? {}
  const { group, version } = parseGroupVersion(text(apiVersion)) ?? { group: '', version: text(apiVersion) }
  return `${group}/${version}, Kind=${text(kind)}`
}
