/**
 * Admission and conversion webhooks as values, the npm entry point `k8ts/controller/webhooks`. A webhook is a
 * path and a function; `runOperator` serves it, makes the certificate and writes the `caBundle` of the
 * configurations that refer to it.
 */
import { badRequest } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { createJsonPatch } from '#/api/patch.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { messageOf } from '#/base/message-of.ts'

export interface Webhook {
  /** As in `clientConfig`: `/validate-websites`. */
  readonly path: string
  readonly type: 'admission' | 'conversion'
  /** Answers the `request` of a review with its `response`, without the uid. */
  readonly respond: (request: ReviewRequest) => Promise<object>
}

export type ReviewRequest = Readonly<Record<string, unknown>> & { readonly uid: string }

/** `admission.k8s.io/v1`. */
export interface AdmissionRequest<T extends KubernetesObject = KubernetesObject> {
  readonly uid: string
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string }
  readonly subResource?: string
  readonly name?: string
  readonly namespace?: string
  readonly userInfo: {
    readonly username?: string
    readonly uid?: string
    readonly groups?: readonly string[]
  }
  /** Absent for DELETE. */
  readonly object?: T | null
  /** Present for UPDATE and DELETE. */
  readonly oldObject?: T | null
  readonly dryRun?: boolean
}

export type AdmissionVerdict<T extends KubernetesObject = KubernetesObject> = Admitted<T> | Denied

export interface Admitted<T> {
  readonly allowed: true
  /** The mutated object, for a mutating webhook. */
  readonly object?: T
  readonly warnings?: readonly string[]
}

export interface Denied {
  readonly allowed: false
  readonly message: string
  /** HTTP status; default 403. */
  readonly code?: number
  readonly warnings?: readonly string[]
}

export interface AdmissionWebhook<T extends KubernetesObject> {
  readonly path: string
  readonly review: (request: AdmissionRequest<T>) => AdmissionVerdict<T> | Promise<AdmissionVerdict<T>>
}

export function admissionWebhook<T extends KubernetesObject>(webhook: AdmissionWebhook<T>): Webhook {
  return {
    path: webhook.path,
    type: 'admission',
    respond: async request => {
      // The API server has validated the object.
      const admission = request as unknown as AdmissionRequest<T>
      const verdict = await webhook.review(admission)
      const warnings = verdict.warnings === undefined ? {} : { warnings: verdict.warnings }
      if (!verdict.allowed) {
        const { message, code = 403 } = verdict
        return { allowed: false, status: { message, code }, ...warnings }
      }
      return { allowed: true, ...patchOf(admission.object, verdict.object), ...warnings }
    },
  }
}

function patchOf(object: unknown, mutated: unknown): object {
  if (mutated === undefined) return {}
  const patch = createJsonPatch(object as JsonValue, mutated as JsonValue)
  if (patch.length === 0) return {}
  return { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
}

export interface ConversionWebhook {
  readonly path: string
  /** Returns the object in the desired apiVersion. Name, namespace and uid must stay the same. */
  readonly convert: (
    object: KubernetesObject,
    desiredApiVersion: string,
  ) => KubernetesObject | Promise<KubernetesObject>
}

export function conversionWebhook({ path, convert }: ConversionWebhook): Webhook {
  return {
    path,
    type: 'conversion',
    respond: async ({ objects, desiredAPIVersion }) => {
      try {
        const given = objects as readonly KubernetesObject[]
        const convertedObjects = await Promise.all(
          given.map(async object => {
            const converted = await convert(object, String(desiredAPIVersion))
            return { ...converted, apiVersion: String(desiredAPIVersion) }
          }),
        )
        return { convertedObjects, result: { status: 'Success' } }
      } catch (error) {
        return { result: { status: 'Failed', message: messageOf(error) } }
      }
    },
  }
}

/** Answers a review. Throws ApiError `BadRequest` if the body is none. */
export async function respondToReview(webhook: Webhook, body: Uint8Array): Promise<object> {
  const { apiVersion, kind, request } = parseReview(body)
  return { apiVersion, kind, response: { uid: request.uid, ...(await webhook.respond(request)) } }
}

interface Review {
  readonly apiVersion: unknown
  readonly kind: unknown
  readonly request: ReviewRequest
}

function parseReview(body: Uint8Array): Review {
  let review: Partial<Review> | null
  try {
    review = JSON.parse(Buffer.from(body).toString()) as Partial<Review> | null
  } catch {
    throw badRequest('the body is not JSON')
  }
  if (typeof review?.request?.uid !== 'string') throw badRequest('the body has no request')
  return review as Review
}
