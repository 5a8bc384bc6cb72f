/** Sends one AdmissionReview to one webhook and evaluates its response. */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { ApiError, badRequest, type Status } from '#/api/errors.ts'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { jsonOf, type KubernetesObject } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Random } from '#/platform/platform.ts'
import type { AdmissionAttributes } from '../admission-chain.ts'
import {
  admissionReview,
  checkResponse,
  readReview,
  ResponseError,
  type ExpectedResponse,
  type ReviewResponse,
} from './admission-review.ts'
import { WebhookCallError } from '../../webhook-failure.ts'
import { requestFields } from '../matching/request-fields.ts'
import { versioned } from './versioned-object.ts'
import { reviewVersionOf, type WebhookClient } from '../../webhook-client.ts'
import type { MatchedWebhook, Webhook } from './webhook.ts'

export interface Reviewer {
  readonly client: WebhookClient
  readonly random: Random
  readonly isMutating: boolean
}

/** The webhook denied the request. */
export class WebhookDenial extends ApiError {}

/**
 * Returns the JSON patch operations; empty for a validating webhook. Throws WebhookDenial if the webhook
 * denies the request, another ApiError if it does not support dry run, and WebhookCallError if the call fails
 * or the response is invalid.
 */
export async function reviewByWebhook(
  { client, random, isMutating }: Reviewer,
  { webhook, matched }: MatchedWebhook,
  request: AdmissionAttributes,
): Promise<readonly JsonValue[]> {
  checkDryRun(webhook, request)
  const version = reviewVersionOf(webhook.admissionReviewVersions)
  if (version === undefined) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)'
    throw new WebhookCallError(`could not create admission objects: ${why}`, 400)
  }
  const uid = random.uuid('admission review uid')
  const shown = async (object: KubernetesObject | undefined): Promise<JsonValue> =>
    object === undefined ? null : jsonOf(await versioned(object, matched))
  const answer = await client.call(webhook.clientConfig, {
    body: admissionReview({
      version,
      uid,
      fields: requestFields(request, matched),
      object: await shown(request.object),
      oldObject: await shown(request.oldObject),
    }),
    timeoutSeconds: webhook.timeoutSeconds ?? timeoutSecondsDefault,
    ...(request.signal && { signal: request.signal }),
    ...(request.traceHeaders && { traceHeaders: request.traceHeaders }),
  })
  const response = readResponse(answer, { version, uid, isMutating })
  for (const [key, value] of Object.entries(response.auditAnnotations))
    request.addAuditAnnotation(`${webhook.name}/${key}`, value)
  for (const warning of response.warnings) request.warn(warning)
  if (!response.allowed) throw denial(webhook, response.status)
  return readPatch(response)
}

const timeoutSecondsDefault = 10

/** Dry-run requests may call only webhooks without side effects. */
function checkDryRun({ name, sideEffects }: Webhook, { dryRun }: AdmissionAttributes): void {
  if (!dryRun || sideEffects === 'None' || sideEffects === 'NoneOnDryRun') return
  throw badRequest(`admission webhook ${quote(name)} does not support dry run`)
}

function readResponse(answer: JsonValue, expected: ExpectedResponse): ReviewResponse {
  try {
    return checkResponse(readReview(answer), expected)
  } catch (error) {
    if (error instanceof ResponseError)
      throw new WebhookCallError(`received invalid webhook response: ${error.message}`, 503, { cause: error })
    if (error instanceof DecodeError)
      throw new WebhookCallError(`failed to call webhook: ${error.message}`, 503, { cause: error })
    throw error
  }
}

function denial({ name }: Webhook, status: Partial<Status> = {}): WebhookDenial {
  const { message = '', reason = '', code = 0 } = status
  const by = `admission webhook ${quote(name)} denied the request`
  const why = message || reason
  return new WebhookDenial({
    ...status,
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: why === '' ? `${by} without explanation` : `${by}: ${why}`,
    code: code < codeMin ? codeMin : code > codeMax ? codeOdd : code,
  })
}

/** Valid status codes of a denial, and the replacement for codes above the range. */
const codeMin = 400
const codeMax = 599
const codeOdd = 500

function readPatch({ patch, patchType = '' }: ReviewResponse): readonly JsonValue[] {
  if (patch === undefined) return []
  const operations = parsePatch(patch)
  if (operations.length > 0 && patchType !== 'JSONPatch')
    throw new WebhookCallError(`unsupported patch type ${quote(patchType)}`, 400)
  return operations
}

function parsePatch(patch: Uint8Array): readonly JsonValue[] {
  const undecodable = (why: string, cause?: unknown): WebhookCallError =>
    new WebhookCallError(`received undecodable patch in webhook response: ${why}`, 503, { cause })
  try {
    const value = parseJson(patch)
    if (Array.isArray(value)) return value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw undecodable(error.message, error)
  }
  throw undecodable('expected a list of operations')
}
