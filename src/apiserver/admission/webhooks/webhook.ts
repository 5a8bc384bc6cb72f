import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '#/api/generated/admissionregistration/v1.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import type { AdmissionTarget } from '../admission.ts'
import { matchRules, type Spoken } from '../matching/resource-rules.ts'

/** A webhook of either kind; the validating kind says nothing of being called again. */
export interface Webhook extends MutatingWebhook {
  /** The same for the same webhook as long as its configuration has it. */
  readonly id: string
  readonly configuration: string
  /** Its place among all webhooks. */
  readonly index: number
}

/** A webhook whose rules are about a write, and the version in which it wants to hear of it. */
export interface Candidate {
  readonly webhook: Webhook
  readonly spoken: Spoken
}

export type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration

/**
 * All webhooks of one kind in the order in which they are called: by the names of their configurations, and in each as
 * written. Which of them a kind of write concerns is found out once.
 */
export class Webhooks {
  readonly #all: readonly Webhook[]
  readonly #scheme: Scheme
  readonly #candidates = new WeakMap<Resource, Map<string, readonly Candidate[]>>()

  constructor(configurations: readonly WebhookConfiguration[], scheme: Scheme) {
    this.#all = configurations.flatMap(webhooksOf).map((webhook, index) => ({ ...webhook, index }))
    this.#scheme = scheme
  }

  candidates(target: AdmissionTarget): readonly Candidate[] {
    if (this.#all.length === 0) return none
    const { resource, operation, subresource } = target
    let ofResource = this.#candidates.get(resource)
    if (ofResource === undefined) this.#candidates.set(resource, (ofResource = new Map()))
    const key = `${operation}/${subresource}`
    const known = ofResource.get(key)
    if (known) return known
    const found = this.#find(target)
    ofResource.set(key, found)
    return found
  }

  #find(target: AdmissionTarget): readonly Candidate[] {
    return this.#all.flatMap(webhook => {
      const { rules = [], matchPolicy } = webhook
      const spoken = matchRules(target, { rules, matchPolicy, scheme: this.#scheme })
      return spoken ? [{ webhook, spoken }] : []
    })
  }
}

const none: readonly Candidate[] = []

/** Names may be repeated in configurations of old. */
function webhooksOf({ metadata, webhooks = [] }: WebhookConfiguration): Omit<Webhook, 'index'>[] {
  const configuration = metadata?.name ?? ''
  const seen = new Map<string, number>()
  return webhooks.map(webhook => {
    const count = seen.get(webhook.name) ?? 0
    seen.set(webhook.name, count + 1)
    return { ...webhook, configuration, id: `${configuration}/${webhook.name}/${count}` }
  })
}

/** Nothing comes between an administrator and what decides about requests: a mistake there could not be undone. */
export function isBeyondWebhooks({ group, kind }: Resource): boolean {
  return group === 'admissionregistration.k8s.io' && configurationKinds.has(kind)
}

const configurationKinds: ReadonlySet<string> = new Set([
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
])
