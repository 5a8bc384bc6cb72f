/**
 * Mutates objects with webhooks, called one after the other. Webhooks with reinvocationPolicy IfNeeded are
 * called at most once more if the object changes after them.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { internalError } from '#/api/errors.ts'
import { mutatingWebhookConfigurations } from '#/api/generated/admissionregistration/v1-resources.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import type {
  AdmissionPlugin,
  AdmissionAttributes,
  AdmittedObject,
  Reinvocation,
} from '../admission-chain.ts'
import type { PluginContext } from '../plugin-context.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import { ReinvocationContext } from '../webhooks/reinvocation-context.ts'
import { applyJsonPatch } from '../webhooks/versioned-object.ts'
import { isExemptFromWebhooks, type MatchedWebhook, type Webhook } from '../webhooks/webhook.ts'

const name = 'MutatingAdmissionWebhook'

export function mutatingAdmissionWebhook(context: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  const dispatcher = new WebhookDispatcher({
    context,
    name,
    configuration,
    resource: mutatingWebhookConfigurations,
    type: 'admit',
  })
  const remembered = new WeakMap<Reinvocation, ReinvocationContext>()
  return {
    name,
    start: () => dispatcher.start(),
    stop: () => dispatcher.stop(),
    handles: ({ resource }) => !isExemptFromWebhooks(resource),
    mutate(request, reinvocation) {
      const candidates = dispatcher.candidates(request)
      if (candidates.length === 0) return request.object
      const reinvocations = remembered.get(reinvocation) ?? new ReinvocationContext(reinvocation)
      remembered.set(reinvocation, reinvocations)
      return dispatch(dispatcher, { candidates, request, reinvocations })
    },
  }
}

interface Dispatch {
  readonly candidates: readonly MatchedWebhook[]
  readonly request: AdmissionAttributes
  readonly reinvocations: ReinvocationContext
}

async function dispatch(
  dispatcher: WebhookDispatcher,
  { candidates, request, reinvocations }: Dispatch,
): Promise<AdmittedObject> {
  let { object } = request
  reinvocations.begin(object)
  for (const matchedWebhook of candidates) {
    const { id, reinvocationPolicy } = matchedWebhook.webhook
    const current = object === request.object ? request : { ...request, object }
    if (!reinvocations.mayCall(id) || !(await dispatcher.shouldCall(matchedWebhook, current))) continue
    const changed = await call(dispatcher, matchedWebhook, { request: current, round: reinvocations.round })
    if (changed !== object) reinvocations.changed()
    object = changed
    if (reinvocationPolicy === 'IfNeeded') reinvocations.called(id)
  }
  reinvocations.end(object)
  return object
}

/** Returns the patched object, or the same object if the webhook did not change it. */
async function call(
  dispatcher: WebhookDispatcher,
  matchedWebhook: MatchedWebhook,
  { request, round }: { readonly request: AdmissionAttributes; readonly round: number },
): Promise<AdmittedObject> {
  const { webhook } = matchedWebhook
  const place = `webhook.admission.k8s.io/round_${round}_index_${webhook.index}`
  let isMutated = false
  try {
    const made = await dispatcher.review(matchedWebhook, request, {
      failedOpenKey: `failed-open.mutation.${place}`,
      use: async patch => {
        if (patch.length === 0) return request
        const { object, isChanged } = await apply(matchedWebhook, request, patch)
        isMutated = isChanged
        const note = JSON.stringify({ ...sourceOf(webhook), patch, patchType: 'JSONPatch' })
        request.addAuditAnnotation(`patch.${place}`, note, 'body')
        return { object }
      },
    })
    return made ? made.object : request.object
  } finally {
    const note = JSON.stringify({ ...sourceOf(webhook), mutated: isMutated })
    request.addAuditAnnotation(`mutation.${place}`, note)
  }
}

function sourceOf({ configuration, name: webhook }: Webhook): object {
  return { configuration, webhook }
}

async function apply(
  { webhook, matched }: MatchedWebhook,
  { object }: AdmissionAttributes,
  patch: readonly JsonValue[],
) {
  if (object !== undefined) return applyJsonPatch(object, [...patch], matched)
  const text = 'attempted to modify the object, which is not supported for this operation'
  throw internalError(`admission webhook ${quote(webhook.name)} ${text}`)
}
