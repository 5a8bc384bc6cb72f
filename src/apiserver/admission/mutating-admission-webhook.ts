/**
 * Mutates objects with webhooks, called one after the other. Webhooks with reinvocationPolicy IfNeeded are
 * called at most once more if the object changes after them.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
import { internalError } from '#/api/errors.ts'
import { mutatingWebhookConfigurations } from '#/api/generated/admissionregistration/v1-resources.ts'
import type { JsonValue } from '#/api/json-value.ts'
import { quote } from '#/api/quote.ts'
import type { AdmissionPlugin, AdmissionRequest, Admitted, Reinvocation } from './admission.ts'
import type { PluginContext } from './plugin-context.ts'
import { WebhookDispatcher } from './webhooks/dispatcher.ts'
import { Reinvocations } from './webhooks/reinvocations.ts'
import { patched } from './webhooks/versioned-object.ts'
import { isBeyondWebhooks, type Candidate, type Webhook } from './webhooks/webhook.ts'

const name = 'MutatingAdmissionWebhook'

export function mutatingAdmissionWebhook(context: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  const dispatcher = new WebhookDispatcher({
    context,
    name,
    configuration,
    resource: mutatingWebhookConfigurations,
    type: 'admit',
  })
  const remembered = new WeakMap<Reinvocation, Reinvocations>()
  return {
    name,
    start: () => dispatcher.start(),
    stop: () => dispatcher.stop(),
    handles: ({ resource }) => !isBeyondWebhooks(resource),
    mutate(request, reinvocation) {
      const candidates = dispatcher.candidates(request)
      if (candidates.length === 0) return request.object
      const reinvocations = remembered.get(reinvocation) ?? new Reinvocations(reinvocation)
      remembered.set(reinvocation, reinvocations)
      return dispatch(dispatcher, { candidates, request, reinvocations })
    },
  }
}

interface Dispatch {
  readonly candidates: readonly Candidate[]
  readonly request: AdmissionRequest
  readonly reinvocations: Reinvocations
}

async function dispatch(
  dispatcher: WebhookDispatcher,
  { candidates, request, reinvocations }: Dispatch,
): Promise<Admitted> {
  let { object } = request
  reinvocations.begin(object)
  for (const candidate of candidates) {
    const { id, reinvocationPolicy } = candidate.webhook
    const current = object === request.object ? request : { ...request, object }
    if (!reinvocations.mayCall(id) || !(await dispatcher.applies(candidate, current))) continue
    const changed = await call(dispatcher, candidate, { request: current, round: reinvocations.round })
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
  candidate: Candidate,
  { request, round }: { readonly request: AdmissionRequest; readonly round: number },
): Promise<Admitted> {
  const { webhook } = candidate
  const place = `webhook.admission.k8s.io/round_${round}_index_${webhook.index}`
  let isMutated = false
  try {
    const made = await dispatcher.review(candidate, request, {
      failedOpenKey: `failed-open.mutation.${place}`,
      use: patch => {
        if (patch.length === 0) return request
        const { object, isChanged } = apply(candidate, request, patch)
        isMutated = isChanged
        const note = JSON.stringify({ ...sourceOf(webhook), patch, patchType: 'JSONPatch' })
        request.annotate(`patch.${place}`, note, 'body')
        return { object }
      },
    })
    return made ? made.object : request.object
  } finally {
    const note = JSON.stringify({ ...sourceOf(webhook), mutated: isMutated })
    request.annotate(`mutation.${place}`, note)
  }
}

function sourceOf({ configuration, name: webhook }: Webhook): object {
  return { configuration, webhook }
}

function apply({ webhook, spoken }: Candidate, { object }: AdmissionRequest, patch: readonly JsonValue[]) {
  if (object !== undefined) return patched(object, [...patch], spoken)
  const text = 'attempted to modify the object, which is not supported for this operation'
  throw internalError(`admission webhook ${quote(webhook.name)} ${text}`)
}
