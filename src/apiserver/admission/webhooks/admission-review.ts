/** The object with which a webhook is asked and answers, `admission.k8s.io/v1` or the older `v1beta1`. */
import { decode } from '#/api/decode.ts'
import { structDefinition } from '#/api/definitions.ts'
import type { Status } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { JsonValue } from '#/api/json-value.ts'
import { quote } from '#/api/quote.ts'
import { flag, listOf, mapOf, struct, text, topStruct } from '../plugin-configuration.ts'
import type { RequestFields } from '../matching/request-fields.ts'

export type ReviewVersion = 'v1' | 'v1beta1'

/** The first version that both understand. */
export function reviewVersionOf(accepted: readonly string[]): ReviewVersion | undefined {
  return accepted.find(version => version === 'v1' || version === 'v1beta1')
}

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
  /** JSON, not yet read. */
  readonly patch?: Uint8Array
  readonly patchType?: string
  readonly auditAnnotations: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

export interface ExpectedResponse {
  readonly version: ReviewVersion
  readonly uid: string
  /** Whether it may say what to change. */
  readonly isMutating: boolean
}

/** An answer with everything in its place. Throws DecodeError when a value has the wrong type. */
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
    // The old version says nothing of the type of a patch: there is but one.
    ...(isPatch && { patch: Buffer.from(patch, 'base64'), patchType: patchType ?? 'JSONPatch' }),
  }
}

/** The webhook answered, but not as it must. */
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

const reviewSchema = topStruct('AdmissionReview', {
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
