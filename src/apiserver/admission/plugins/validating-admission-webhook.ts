/**
 * Validates requests with webhooks, called in parallel; one denial is enough to reject a request.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import type { JsonValue } from '#/api/text/json-value.ts'
import { validatingWebhookConfigurations } from '#/api/generated/admissionregistration/v1-resources.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../admission-chain.ts'
import type { PluginContext } from '../plugin-context.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import { isExemptFromWebhooks, type MatchedWebhook } from '../webhooks/webhook.ts'

const name = 'ValidatingAdmissionWebhook'

export function validatingAdmissionWebhook(
  context: PluginContext,
  configuration?: JsonValue,
): AdmissionPlugin {
  const dispatcher = new WebhookDispatcher({
    context,
    name,
    configuration,
    resource: validatingWebhookConfigurations,
    type: 'validating',
  })
  return {
    name,
    start: () => dispatcher.start(),
    stop: () => dispatcher.stop(),
    handles: ({ resource }) => !isExemptFromWebhooks(resource),
    validate(request) {
      const candidates = dispatcher.candidates(request)
      if (candidates.length === 0) return undefined
      const { clock } = context.platform
      const startedMs = clock.monotonicMs()
      return dispatch(dispatcher, candidates, request).finally(() => {
        request.onWebhookWait?.(clock.monotonicMs() - startedMs)
      })
    },
  }
}

async function dispatch(
  dispatcher: WebhookDispatcher,
  candidates: readonly MatchedWebhook[],
  request: AdmissionAttributes,
): Promise<void> {
  const concerned: MatchedWebhook[] = []
  for (const matchedWebhook of candidates) {
    if (await dispatcher.shouldCall(matchedWebhook, request)) concerned.push(matchedWebhook)
  }
  const outcomes = await Promise.allSettled(
    concerned.map((matchedWebhook, index) =>
      dispatcher.review(matchedWebhook, request, {
        failedOpenKey: `failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`,
        use: () => undefined,
      }),
    ),
  )
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
