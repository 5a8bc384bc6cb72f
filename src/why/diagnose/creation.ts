import type { Event } from '#/api/generated/core/v1.ts'
import { conditionOf, type Condition } from '#/api/conditions.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Cause, Evidence } from '../diagnosis.ts'
import { eventWith, podsOf, timeOf, type Snapshot, type WebhookConfiguration } from '../collect/snapshot.ts'
import { findDeniedRequest } from './log-hints.ts'
import { nameOf, kubectl, ofEvent, ofObject, remedy, trimmed } from './phrases.ts'
import { diagnoseDeniedRequest } from './rbac.ts'
import { endpointsOf } from './service-endpoints.ts'

/** A message of the API server that refused to create an object. */
export interface Refusal {
  readonly message: string
  readonly evidence: readonly Evidence[]
}

/** Why the API server refuses what a controller creates for the owner, such as the pods of a ReplicaSet. */
export function diagnoseCreation(snapshot: Snapshot, owner: Stored): Cause | undefined {
  const refusal = refusalOf(snapshot, owner)
  return refusal && explainRefusal(snapshot, owner, refusal)
}

function refusalOf(snapshot: Snapshot, owner: Stored): Refusal | undefined {
  const event = eventWith(snapshot, owner, ['FailedCreate'])
  const { conditions } = statusOf(owner)
  const condition = conditionOf(conditions, 'ReplicaFailure')
  if (condition?.status === 'True') {
    const { reason = '', message = '' } = condition
    if (reason !== 'FailedCreate') return undefined
    return {
      message,
      evidence: [event ? ofEvent(event, snapshot.nowMs) : ofObject(owner, `${reason}: ${message}`)],
    }
  }
  // A ReplicaSet withdraws its condition when it has succeeded; other controllers only have events.
  if (event === undefined || owner.kind === 'ReplicaSet') return undefined
  const hasSucceeded = podsOf(snapshot, owner).some(({ metadata }) => {
    return (parseTime(metadata.creationTimestamp) ?? 0) > timeOf(event)
  })
  if (hasSucceeded) return undefined
  return { message: event.message ?? '', evidence: [ofEvent(event satisfies Event, snapshot.nowMs)] }
}

function statusOf(object: KubernetesObject): { readonly conditions?: readonly Condition[] } {
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } }
  return status ?? {}
}

function explainRefusal(snapshot: Snapshot, owner: Stored, refusal: Refusal): Cause {
  const { message } = refusal
  const quota = /exceeded quota: (?<name>\S+), (?<amounts>.*)$/s.exec(message)?.groups
  if (quota) return quotaCause(snapshot, owner, { refusal, name: quota['name'] ?? '' })
  const webhook = /failed calling webhook "(?<name>[^"]+)"/.exec(message)?.groups?.['name']
  if (webhook !== undefined) return webhookCause(snapshot, owner, { refusal, webhook })
  const denied = findDeniedRequest(message)
  if (denied) return diagnoseDeniedRequest(denied, { subject: nameOf(owner), evidence: refusal.evidence })
  const reason = trimmed(message.replace(/^(?:[Ee]rror creating|create Pod \S+ in .*? failed error): /, ''))
  const base = { evidence: refusal.evidence, summary: `${nameOf(owner)} cannot create its pods: ${reason}.` }
  const account = /service ?account (?:[\w.-]+\/)?"?(?<name>[\w.-]+)"? not found/i.exec(message)?.groups?.[
    'name'
  ]
  const accountName = account ?? /serviceaccount "(?<name>[^"]+)" not found/.exec(message)?.groups?.['name']
  if (accountName !== undefined) {
    const summary = `${nameOf(owner)} cannot create its pods, since ServiceAccount ${accountName} does not exist.`
    const command = kubectl(snapshot.namespace, 'create', 'serviceaccount', accountName)
    return { ...base, summary, code: 'MissingObject', remedies: [remedy('Create the account:', command)] }
  }
  return {
    ...base,
    code: 'AdmissionDenied',
    remedies: [
      remedy(
        'Change the pod template so that it is admitted, or the rule that denies it:',
        kubectl(snapshot.namespace, 'edit', (owner.kind ?? '').toLowerCase(), owner.metadata.name),
      ),
    ],
  }
}

interface QuotaRefusal {
  readonly refusal: Refusal
  readonly name: string
}

function quotaCause(
  { namespace, quotas = [] }: Snapshot,
  owner: Stored,
  { refusal, name }: QuotaRefusal,
): Cause {
  const parts = /requested: (?<requested>.*?), used: (?<used>.*?), limited: (?<limited>.*)$/s.exec(
    refusal.message,
  )
  const { requested = '', used = '', limited = '' } = parts?.groups ?? {}
  const quota = quotas.find(({ metadata }) => metadata.name === name)
  const { hard = {}, used: usedNow = {} } = quota?.status ?? {}
  const amounts = Object.keys(hard).map(each => `${each} ${usedNow[each] ?? '0'} of ${hard[each]}`)
  const numbers = parts
    ? `it needs ${trimmed(requested)}, and ${trimmed(used)} of ${trimmed(limited)} are used`
    : trimmed(refusal.message)
  return {
    code: 'QuotaExceeded',
    summary: `${nameOf(owner)} cannot create its pods, since ResourceQuota ${name} is exceeded: ${numbers}.`,
    evidence: [
      ...refusal.evidence,
      ...(quota && amounts.length > 0 ? [ofObject(quota, `used: ${amounts.join(', ')}`)] : []),
    ],
    remedies: [
      remedy('See what the quota counts, and raise it:', kubectl(namespace, 'edit', 'resourcequota', name)),
      remedy(
        'Or run fewer pods in the namespace, or pods that request less:',
        kubectl(namespace, 'get', 'pods'),
      ),
    ],
  }
}

interface WebhookRefusal {
  readonly refusal: Refusal
  readonly webhook: string
}

function webhookCause(snapshot: Snapshot, owner: Stored, { refusal, webhook }: WebhookRefusal): Cause {
  const configuration = configurationOf(snapshot, webhook)
  const reference = configuration?.webhooks?.find(({ name }) => name === webhook)?.clientConfig.service
  const fromUrl = /https:\/\/(?<name>[a-z0-9-]+)\.(?<in>[a-z0-9-]+)\.svc[:/]/.exec(refusal.message)?.groups
  const namespace = reference?.namespace ?? fromUrl?.['in']
  const name = reference?.name ?? fromUrl?.['name']
  const state =
    namespace === undefined || name === undefined
      ? trimmed(refusal.message.replace(/^.*failed to call webhook: /s, ''))
      : serviceState(snapshot, { namespace, name, message: refusal.message })
  const kind = configuration?.kind ?? 'ValidatingWebhookConfiguration'
  const where = configuration ? ` of ${nameOf(configuration)}` : ''
  const which = `admission webhook "${webhook}"${where}`
  return {
    code: 'WebhookUnavailable',
    summary: `${nameOf(owner)} cannot create its pods, since ${which} does not answer: ${state}.`,
    evidence: [
      ...refusal.evidence,
      ...(configuration
        ? [
            ofObject(
              configuration,
              `webhook ${webhook} has failurePolicy ${policyOf(configuration, webhook)}`,
            ),
          ]
        : []),
    ],
    remedies: [
      ...(name === undefined
        ? []
        : [
            remedy(
              'Bring the server of the webhook back:',
              kubectl(namespace, 'get', `service/${name}`, `endpointslices`, 'pods'),
            ),
          ]),
      remedy(
        configuration
          ? 'Or remove the webhook, if its server is gone for good:'
          : 'Find the webhook in one of the configurations:',
        configuration
          ? kubectl(undefined, 'delete', kind.toLowerCase(), configuration.metadata.name)
          : kubectl(undefined, 'get', 'validatingwebhookconfigurations,mutatingwebhookconfigurations'),
      ),
    ],
  }
}

function configurationOf(
  { webhookConfigurations = [] }: Snapshot,
  webhook: string,
): Stored<WebhookConfiguration> | undefined {
  return webhookConfigurations.find(({ webhooks = [] }) => webhooks.some(({ name }) => name === webhook))
}

function policyOf({ webhooks = [] }: WebhookConfiguration, webhook: string): string {
  return webhooks.find(({ name }) => name === webhook)?.failurePolicy ?? 'Fail'
}

function serviceState(
  snapshot: Snapshot,
  {
    namespace,
    name,
    message,
  }: { readonly namespace: string; readonly name: string; readonly message: string },
): string {
  const service = `its Service ${namespace}/${name}`
  if (/service "[^"]+" not found/.test(message)) return `${service} does not exist`
  const { services, endpointSlices } = snapshot
  const found = services?.find(each => {
    return each.metadata.namespace === namespace && each.metadata.name === name
  })
  if (found && endpointSlices && endpointsOf(snapshot, found).ready === 0) {
    return `${service} has no ready endpoints`
  }
  if (message.includes('no endpoints available')) return `${service} has no ready endpoints`
  return `${service} fails with ${trimmed(message.replace(/^.*failed to call webhook: /s, ''))}`
}
