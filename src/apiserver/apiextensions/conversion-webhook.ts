/** Calls the conversion webhook of a CustomResourceDefinition. */
import type { ConversionWebhook } from '#/api/custom-resources/version-conversion.ts'
import { unknownError } from '#/api/errors.ts'
import type {
  CustomResourceDefinition,
  WebhookConversion as WebhookConversionSpec,
} from '#/api/generated/apiextensions/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Clock, Random } from '#/platform/platform.ts'
import type { Metrics } from '../metrics.ts'
import { WebhookCallError } from '../webhook-failure.ts'
import { reviewVersionOf, type WebhookClient } from '../webhook-client.ts'
import { ConversionResponseError, conversionReview, kindText, readConverted } from './conversion-review.ts'

export interface ConversionClient {
  readonly client: WebhookClient
  readonly random: Random
  readonly clock: Clock
  readonly metrics?: Metrics | undefined
}

/** Undefined if the conversion strategy is not Webhook. */
export function conversionWebhookOf(
  { metadata, spec: { conversion } }: CustomResourceDefinition,
  calls: ConversionClient,
): ConversionWebhook | undefined {
  const definition = metadata.name ?? ''
  const webhook = conversion?.strategy === 'Webhook' ? conversion.webhook : undefined
  if (webhook === undefined) return undefined
  return async (objects, apiVersion) => {
    const converted: KubernetesObject[] = []
    for (let start = 0; start < objects.length; start += objectsAtOnce) {
      const batch = objects.slice(start, start + objectsAtOnce)
      converted.push(...(await measuredCall(webhook, calls, { objects: batch, apiVersion, definition })))
    }
    return converted
  }
}

/** Keeps requests and responses small, whatever the length of a list. */
const objectsAtOnce = 250

const timeoutSeconds = 30

interface Batch {
  readonly objects: readonly KubernetesObject[]
  readonly apiVersion: string
  /** Name of the CustomResourceDefinition. */
  readonly definition: string
}

async function measuredCall(
  webhook: WebhookConversionSpec,
  calls: ConversionClient,
  batch: Batch,
): Promise<readonly KubernetesObject[]> {
  const { clock, metrics } = calls
  const startedMs = clock.monotonicMs()
  const record = (failureType: string): void => {
    metrics?.server.recordConversion({
      definition: batch.definition,
      from: versionOf(batch.objects[0]?.apiVersion),
      to: versionOf(batch.apiVersion),
      succeeded: failureType === '',
      failureType,
      seconds: (clock.monotonicMs() - startedMs) / 1_000,
    })
  }
  try {
    const converted = await callWebhook(webhook, calls, batch)
    record('')
    return converted
  } catch (error) {
    record(error instanceof Error && error.cause instanceof WebhookCallError ? callFailure : responseFailure)
    throw error
  }
}

/** Values of the failure_type label. */
const callFailure = 'conversion_call_failure'
const responseFailure = 'conversion_malformed_response_failure'

function versionOf(apiVersion = ''): string {
  return apiVersion.slice(apiVersion.indexOf('/') + 1)
}

async function callWebhook(
  { clientConfig, conversionReviewVersions }: WebhookConversionSpec,
  { client, random }: ConversionClient,
  { objects, apiVersion: desiredAPIVersion }: Batch,
): Promise<readonly KubernetesObject[]> {
  const version = reviewVersionOf(conversionReviewVersions)
  if (version === undefined) throw unknownError('no supported conversion review versions')
  const uid = random.uuid('conversion review uid')
  const request = { version, uid, desiredAPIVersion, objects }
  try {
    const body = conversionReview(request)
    return readConverted(await client.call(clientConfig ?? {}, { body, timeoutSeconds }), request)
  } catch (error) {
    if (error instanceof WebhookCallError) {
      const kind = kindText(objects[0])
      throw unknownError(`conversion webhook for ${kind} failed: ${error.reason}`).causedBy(error)
    }
    if (error instanceof ConversionResponseError) throw unknownError(error.message)
    throw error
  }
}
