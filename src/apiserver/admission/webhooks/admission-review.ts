/** AdmissionReview requests and responses, `admission.k8s.io/v1` and `v1beta1`. */
import { decode } from '#/api/decoding/decode.ts'
import { structDefinition } from '#/api/definitions.ts'
import type { Status } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { flag, listOf, mapOf, struct, text, versionedStruct } from '../plugin-configuration.ts'
import type { ReviewVersion } from '../../webhook-client.ts'
import type { RequestFields } from '../matching/request-fields.ts'

export interface ReviewRequest {
  readonly version: ReviewVersion
  readonly uid: string
  readonly fields: RequestFields
  readonly object: JsonValue
  readonly oldObject: JsonValue
}

export function admissionReview({ version, uid, fields, object, oldObject }: ReviewRequest): JsonValue {
  const { dryRun = false, options = null, ...others } = fields
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...others, object, oldObject, dryRun, options },
  }
}

export interface ReviewResponse {
  readonly allowed: boolean
  readonly status?: Partial<Status>
  /** JSON, not yet parsed. */
  readonly patch?: Uint8Array
  readonly patchType?: string
  readonly auditAnnotations: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

export interface ExpectedResponse {
  readonly version: ReviewVersion
  readonly uid: string
  /** True if the response may contain a patch. */
  readonly isMutating: boolean
}

/** Throws DecodeError if a value has the wrong type. */
export function readReview(value: JsonValue): Review {
  return decode(value, reviewSchema).value
}

/** Throws ResponseError. */
export function checkResponse(review: Review, expected: ExpectedResponse): ReviewResponse {
  const { response } = review
  if (response === undefined) throw new ResponseError('webhook response was absent')
  if (expected.version === 'v1') checkCurrent(review, response, expected)
  const { allowed = false, status, patch = '', patchType, auditAnnotations = {}, warnings = [] } = response
  const isPatch = expected.isMutating && patch !== ''
  return {
    allowed,
    auditAnnotations,
    warnings,
    ...(status && { status }),
    // `v1beta1` allows patches without patchType; JSONPatch is the only type.
    ...(isPatch && { patch: Buffer.from(patch, 'base64'), patchType: patchType ?? 'JSONPatch' }),
  }
}

/** The webhook returned an invalid response. */
export class ResponseError extends Error {}

function checkCurrent(review: Review, response: Response, { uid, isMutating }: ExpectedResponse): void {
  const { uid: answered = '', patch = '', patchType } = response
  if (answered !== uid) throw new ResponseError(`expected response.uid=${quote(uid)}, got ${quote(answered)}`)
  const { kind = '', apiVersion = '' } = review
  if (kind !== 'AdmissionReview' || apiVersion !== 'admission.k8s.io/v1') {
    const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion }
    throw new ResponseError(
      'expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, ' +
        `got ${group}/${version}, Kind=${kind}`,
    )
  }
  if (!isMutating) {
    if (patch !== '') throw new ResponseError('validating webhook may not return response.patch')
    if (patchType !== undefined)
      throw new ResponseError('validating webhook may not return response.patchType')
    return
  }
  if (patch !== '' && patchType === undefined)
    throw new ResponseError('webhook returned response.patch but not response.patchType')
  if (patch === '' && patchType !== undefined)
    throw new ResponseError('webhook returned response.patchType but not response.patch')
  if (patchType === '') throw new ResponseError('webhook returned invalid response.patchType of ""')
}

interface Response {
  readonly uid?: string
  readonly allowed?: boolean
  readonly status?: Partial<Status>
  /** Base64. */
  readonly patch?: string
  readonly patchType?: string
  readonly auditAnnotations?: Readonly<Record<string, string>>
  readonly warnings?: readonly string[]
}

interface Review {
  readonly kind?: string
  readonly apiVersion?: string
  readonly response?: Response
}

const reviewSchema = versionedStruct('AdmissionReview', {
  response: struct('AdmissionResponse', {
    uid: text,
    allowed: flag,
    status: structDefinition('meta.v1.Status'),
    patch: { type: 'string', format: 'byte' },
    patchType: text,
    auditAnnotations: mapOf(text),
    warnings: listOf(text),
  }),
})
