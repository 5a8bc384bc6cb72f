import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '#/api/generated/admissionregistration/v1.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import type { Stored } from '#/api/metadata.ts'
import type { AdmissionTarget } from '../admission-chain.ts'
import { matchRules, type MatchedResource } from '../matching/resource-rules.ts'

/** A mutating or validating webhook; validating webhooks have no reinvocationPolicy. */
export interface Webhook extends MutatingWebhook {
  /** Identifies the webhook across passes. */
  readonly id: string
  readonly configuration: string
  /** Index among all webhooks of this type. */
  readonly index: number
}

/** A webhook with matching rules, and the resource version in which it receives the object. */
export interface MatchedWebhook {
  readonly webhook: Webhook
  readonly matched: MatchedResource
}

export type WebhookConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration

/**
 * All webhooks of one type in call order: by configuration name, then in the order of the configuration. Rule
 * matches are cached per resource, operation and subresource.
 */
export class Webhooks {
  readonly #all: readonly Webhook[]
  readonly #scheme: Scheme
  readonly #candidates = new WeakMap<Resource, Map<string, readonly MatchedWebhook[]>>()

  constructor(configurations: readonly Stored<WebhookConfiguration>[], scheme: Scheme) {
    this.#all = configurations.flatMap(webhooksOf).map((webhook, index) => ({ ...webhook, index }))
    this.#scheme = scheme
  }

  candidates(target: AdmissionTarget): readonly MatchedWebhook[] {
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

  #find(target: AdmissionTarget): readonly MatchedWebhook[] {
    return this.#all.flatMap(webhook => {
      const { rules = [], matchPolicy } = webhook
      const matched = matchRules(target, { rules, matchPolicy, scheme: this.#scheme })
      return matched ? [{ webhook, matched }] : []
    })
  }
}

const none: readonly MatchedWebhook[] = []

/** Names may repeat in old configurations, so the id contains a counter. */
function webhooksOf({ metadata, webhooks = [] }: Stored<WebhookConfiguration>): Omit<Webhook, 'index'>[] {
  const configuration = metadata.name
  const seen = new Map<string, number>()
  return webhooks.map(webhook => {
    const count = seen.get(webhook.name) ?? 0
    seen.set(webhook.name, count + 1)
    return { ...webhook, configuration, id: `${configuration}/${webhook.name}/${count}` }
  })
}

/**
 * Admission configuration objects are exempt from webhooks, so that a broken webhook cannot block its own
 * repair.
 */
export function isExemptFromWebhooks({ group, kind }: Resource): boolean {
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
