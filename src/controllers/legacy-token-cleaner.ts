/**
 * Cleans up auto-generated service account token secrets that have not been used for a long time: first the
 * secret is labeled as invalid, which makes the API server reject the token, and after the same period again
 * it is deleted. Manually created token secrets are kept.
 * https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#legacy-serviceaccount-token-cleaner
 */
import { isApiError } from '#/api/errors.ts'
import { configMaps, pods, secrets, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { Secret, Container, Pod, Volume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Client } from '#/client/client.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { dayMs, parseDay, planByAge, planUnused, type UnusedPlan } from './legacy-token-cleaner/plan.ts'
import { invalidSince } from './legacy-token-cleaner/labels.ts'
import { accountKeyOf, isAccountToken } from './shared/token-secret.ts'

export interface LegacyTokenCleanerSettings {
  /** Time for which a token must be unused. */
  readonly periodMs?: number
}

const periodMsUsual = 365 * dayMs

export function legacyTokenCleanerController(settings: LegacyTokenCleanerSettings = {}): Controller {
  return {
    name: 'legacy-serviceaccount-token-cleaner-controller',
    account: 'legacy-service-account-token-cleaner',
    setUp: context => setUp(context, settings.periodMs ?? periodMsUsual),
  }
}

function setUp({ platform, informer, enqueue }: ControllerContext, periodMs: number): Reconcile {
  const allSecrets = informer(secrets)
  const accounts = informer(serviceAccounts)
  const allPods = informer(pods)
  const ofAccount = allSecrets.index('service account', secret => {
    return isAccountToken(secret) ? [accountKeyOf(secret)] : []
  })
  allSecrets.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isAccountToken(newObject)) enqueue(key)
  })
  // Only secrets that the service account references were auto-generated.
  accounts.addEventHandler((key, { oldObject, newObject }) => {
    if (equalJson(oldObject?.secrets, newObject?.secrets)) return
    for (const secretKey of ofAccount.keys(key)) enqueue(secretKey)
  })

  return async ({ key, client, signal }) => {
    const secret = allSecrets.get(key)
    if (secret === undefined || !isAccountToken(secret)) return undefined
    const nowMs = platform.clock.now()
    const byAge = planByAge({ secret, account: accounts.get(accountKeyOf(secret)), nowMs, periodMs })
    if (byAge.action === 'keep') return undefined
    if (byAge.action === 'wait') return { requeueAfterMs: byAge.untilMs - nowMs }
    const namespace = secret.metadata.namespace ?? ''
    const name = secret.metadata.name
    const isMounted = allPods.inNamespace(namespace).some(pod => secretNamesOf(pod).has(name))
    const trackedSinceMs = isMounted ? undefined : await findTrackedSince(client, signal)
    const plan = planUnused({ secret, trackedSinceMs, isMounted, nowMs, periodMs })
    return perform(secret, plan, { client, nowMs })
  }
}

interface Performance extends Pick<ReconcileRequest, 'client'> {
  readonly nowMs: number
}

async function perform(
  { metadata }: Stored<Secret>,
  plan: UnusedPlan,
  { client, nowMs }: Performance,
): Promise<ReconcileResult | undefined> {
  const { namespace, name, uid, resourceVersion } = metadata
  try {
    switch (plan.action) {
      case 'wait':
        return { requeueAfterMs: plan.untilMs - nowMs }
      case 'invalidate': {
        const patch = { metadata: { uid, labels: { [invalidSince]: plan.day } } }
        await client.patch(secrets, { namespace, name }, { type: 'merge', patch })
        return undefined
      }
      case 'delete':
        await client.delete(secrets, { namespace, name }, { preconditions: { uid, resourceVersion } })
        return undefined
    }
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    return undefined
  }
}

/** Start of usage tracking by the API server; earlier use of tokens is unknown. */
async function findTrackedSince(client: Client, signal: AbortSignal): Promise<number | undefined> {
  const at = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' }
  const tracking = await client.find(configMaps, at, { signal })
  return parseDay(tracking?.data?.['since'])
}

export function secretNamesOf({ spec }: Pod): ReadonlySet<string> {
  const containers: readonly Container[] = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ]
  const names = [
    ...(spec?.imagePullSecrets ?? []).map(({ name }) => name),
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...envFrom.map(({ secretRef }) => secretRef?.name),
    ]),
    ...(spec?.volumes ?? []).flatMap(ofVolume),
  ]
  return new Set(names.flatMap(name => (name ? [name] : [])))
}

function ofVolume(volume: Volume): readonly (string | undefined)[] {
  return [
    volume.secret?.secretName,
    volume.azureFile?.secretName,
    ...(volume.projected?.sources ?? []).map(({ secret }) => secret?.name),
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef.name,
    volume.storageos?.secretRef?.name,
  ]
}
