/**
 * Maintains the certificate of an operator's webhook server in a Secret, which all replicas share, and the
 * `caBundle` of every webhook configuration and CustomResourceDefinition that refers to the server. It runs in
 * every replica: each needs the certificate, and writes that are based on old state fail with a conflict.
 */
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '#/api/generated/admissionregistration/v1-resources.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import type { Controller, ControllerContext, Reconcile } from '#/controllers/controller.ts'
import {
  ensureWebhookCertificates,
  type WebhookCertificates,
  type WebhookCertificatesRequest,
} from '#/kubeadm/webhook-certificates.ts'
import type { Webhook } from './webhooks.ts'

export interface WebhookCertificateSettings {
  /** Name of the operator. */
  readonly name: string
  readonly namespace: string
  readonly crypto: Crypto
  readonly webhooks: readonly Webhook[]
  readonly target: WebhookTarget
  /** Called with each new certificate, and once with the existing one. */
  readonly onCertificates: (certificates: WebhookCertificates) => void
}

/** How the API server reaches the webhooks: the `clientConfig` of configurations that refer to this server. */
export type WebhookTarget =
  | { readonly service: { readonly namespace: string; readonly name: string } }
  /** `https://host:port`, for an operator outside of the cluster. */
  | { readonly url: string }

interface ClientConfig {
  readonly caBundle?: string
  readonly service?: { readonly namespace: string; readonly name: string }
  readonly url?: string
}

/** Short, because a jump of the wall clock can make the certificate invalid at any time. */
const checkMs = 60_000

const certificateKey = 'certificate'

export function webhookCertificateController(settings: WebhookCertificateSettings): Controller {
  const name = 'webhook-certificate-controller'
  return { name, workers: 1, setUp: context => setUp(settings, context) }
}

function setUp(settings: WebhookCertificateSettings, context: ControllerContext): Reconcile {
  const { name, namespace, crypto, webhooks, target, onCertificates } = settings
  const { platform, informer, enqueue } = context
  const secretName = `${name}-webhook-certificate`
  const stored = informer(secrets, { namespace, fieldSelector: `metadata.name=${secretName}` })
  stored.addEventHandler(() => enqueue(certificateKey))
  // Enqueued once more, since there may be no Secret yet.
  enqueue(certificateKey)
  const has = (type: Webhook['type']): boolean => webhooks.some(webhook => webhook.type === type)
  const configured: readonly Configured[] = [
    ...(has('admission') ? [configurationsOf(context, mutatingWebhookConfigurations)] : []),
    ...(has('admission') ? [configurationsOf(context, validatingWebhookConfigurations)] : []),
    ...(has('conversion') ? [definitionsOf(context)] : []),
  ]
  for (const { onChange } of configured) onChange(() => enqueue(certificateKey))
  let served: string | undefined
  return async ({ client, signal }) => {
    const secret = stored.get(`${namespace}/${secretName}`)
    const existing = secret && certificatesIn(secret)
    const request: WebhookCertificatesRequest = { name, names: namesOf(target), existing }
    const certificates = await ensureWebhookCertificates({ platform, crypto }, request)
    if (certificates !== existing) {
      await writeSecret(client, secret, { metadata: { namespace, name: secretName }, certificates })
      // The change of the Secret enqueues the key: only stored certificates are used.
      return undefined
    }
    // Published before it is used, see `ensureWebhookCertificates`.
    const caBundle = Buffer.from(certificates.caBundle).toString('base64')
    for (const { update } of configured) await update({ client, signal, target, caBundle })
    if (served !== certificates.cert) onCertificates(certificates)
    served = certificates.cert
    return { requeueAfterMs: checkMs }
  }
}

function namesOf(target: WebhookTarget): readonly string[] {
  if ('url' in target) return [new URL(target.url).hostname.replaceAll(/[[\]]/g, '')]
  const { namespace, name } = target.service
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`]
}

function certificatesIn({ data = {} }: Secret): WebhookCertificates {
  const text = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString()
  return { cert: text('tls.crt'), key: text('tls.key'), caBundle: text('ca.crt'), caKey: text('ca.key') }
}

async function writeSecret(
  client: Client,
  existing: Stored<Secret> | undefined,
  next: { readonly metadata: Secret['metadata']; readonly certificates: WebhookCertificates },
): Promise<void> {
  const { cert, key, caBundle, caKey } = next.certificates
  const texts = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': caBundle, 'ca.key': caKey }
  const data = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  )
  if (existing === undefined) {
    await client.create(secrets, { metadata: next.metadata, type: 'kubernetes.io/tls', data })
  } else {
    await client.update(secrets, { ...existing, data })
  }
}

interface CaBundleUpdate {
  readonly client: Client
  readonly signal: AbortSignal
  readonly target: WebhookTarget
  /** Base64. */
  readonly caBundle: string
}

/** Objects of a kind that contain client configurations. */
interface Configured {
  readonly onChange: (callback: () => void) => void
  readonly update: (update: CaBundleUpdate) => Promise<void>
}

interface WebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly { readonly clientConfig: ClientConfig }[]
}

function configurationsOf(context: ControllerContext, resource: Resource<WebhookConfiguration>): Configured {
  return configuredIn(context, resource, (object, update) => {
    const webhooks = object.webhooks?.map(webhook => {
      return { ...webhook, clientConfig: withCaBundle(webhook.clientConfig, update) }
    })
    const isSame = webhooks?.every((webhook, index) => {
      return webhook.clientConfig === object.webhooks?.[index]?.clientConfig
    })
    return isSame === false ? { ...object, webhooks: webhooks! } : object
  })
}

function definitionsOf(context: ControllerContext): Configured {
  return configuredIn<CustomResourceDefinition>(context, customResourceDefinitions, (object, update) => {
    const { conversion } = object.spec
    const clientConfig = conversion?.webhook?.clientConfig
    if (conversion?.webhook === undefined || clientConfig === undefined) return object
    const changed = withCaBundle(clientConfig, update)
    if (changed === clientConfig) return object
    const webhook = { ...conversion.webhook, clientConfig: changed }
    return { ...object, spec: { ...object.spec, conversion: { ...conversion, webhook } } }
  })
}

function configuredIn<T extends KubernetesObject>(
  context: ControllerContext,
  resource: Resource<T>,
  change: (object: Stored<T>, update: CaBundleUpdate) => Stored<T>,
): Configured {
  const informer = context.informer(resource)
  return {
    onChange: callback => void informer.addEventHandler(callback),
    update: async update => {
      for (const object of informer.list()) {
        const changed = change(object, update)
        if (changed !== object) await update.client.update(resource, changed, { signal: update.signal })
      }
    },
  }
}

/** Returns the same object if it does not refer to this server, or has the bundle already. */
function withCaBundle<T extends ClientConfig>(clientConfig: T, { target, caBundle }: CaBundleUpdate): T {
  const isOurs =
    'url' in target
      ? clientConfig.url !== undefined && URL.parse(clientConfig.url)?.origin === new URL(target.url).origin
      : clientConfig.service?.namespace === target.service.namespace &&
        clientConfig.service.name === target.service.name
  return isOurs && clientConfig.caBundle !== caBundle ? { ...clientConfig, caBundle } : clientConfig
}
