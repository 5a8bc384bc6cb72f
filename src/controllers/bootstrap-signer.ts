/**
 * Signs the public `cluster-info` ConfigMap with every bootstrap token that allows signing, so that a joining
 * machine that has only a token can verify the cluster's identity.
 * https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#configmap-signing
 */
import { isApiError } from '#/api/errors.ts'
import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { signDetached, type SharedSecret } from '#/base/detached-signature.ts'
import type { ConfigMap, Secret } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isBootstrapToken, expiresAtMs, valueOf } from './shared/bootstrap-token.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

const clusterInfo = 'kube-public/cluster-info'

export const bootstrapSignerController: Controller = {
  name: 'bootstrap-signer-controller',
  queueName: 'bootstrap_signer_queue',
  account: 'bootstrap-signer',
  setUp,
}

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const maps = informer(configMaps, { namespace: 'kube-public', fieldSelector: 'metadata.name=cluster-info' })
  const allSecrets = informer(secrets)
  const tokens = allSecrets.index('bootstrap tokens', secret => (isBootstrapToken(secret) ? [''] : []))
  maps.addEventHandler(() => enqueue(clusterInfo))
  allSecrets.addEventHandler((_key, { oldObject, newObject }) => {
    if (isBootstrapToken(newObject ?? oldObject)) enqueue(clusterInfo)
  })

  return async ({ client, signal }) => {
    const map = maps.get(clusterInfo)
    const nowMs = platform.clock.now()
    const plan = map && planSignatures(map, tokens.get(''), nowMs)
    if (map === undefined || plan === undefined) return undefined
    try {
      const { data } = plan
      if (!equalJson(data, map.data)) await client.update(configMaps, { ...map, data }, { signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return plan.untilMs === Infinity ? undefined : { requeueAfterMs: plan.untilMs - nowMs }
  }
}

const signaturePrefix = 'jws-kubeconfig-'

interface Signatures {
  /** Complete desired data of the ConfigMap. */
  readonly data: Readonly<Record<string, string>>
  /** Expiration time of the first token to expire. */
  readonly untilMs: number
}

/** Undefined if the ConfigMap has no `kubeconfig`. */
export function planSignatures(
  { data = {} }: ConfigMap,
  tokens: readonly Stored<Secret>[],
  nowMs: number,
): Signatures | undefined {
  const content = Object.hasOwn(data, 'kubeconfig') ? data['kubeconfig'] : undefined
  if (content === undefined) return undefined
  const signing = tokens.flatMap(token => {
    const secret = signingSecretOf(token, nowMs)
    return secret === undefined ? [] : [{ secret, expiresMs: expiresAtMs(token) }]
  })
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix))
  const signatures = signing.map(({ secret }) => {
    return [`${signaturePrefix}${secret.keyId}`, signDetached(content, secret)] as const
  })
  return {
    data: Object.fromEntries([...others, ...signatures]),
    untilMs: Math.min(Infinity, ...signing.map(({ expiresMs }) => expiresMs)),
  }
}

/** Undefined if the token is malformed, expired, being deleted or not enabled for signing. */
function signingSecretOf(token: Stored<Secret>, nowMs: number): SharedSecret | undefined {
  const [, named] = /^bootstrap-token-([a-z0-9]{6})$/.exec(token.metadata.name) ?? []
  const keyId = valueOf(token, 'token-id')
  const secret = valueOf(token, 'token-secret')
  const isGood =
    keyId === named &&
    secret !== '' &&
    valueOf(token, 'usage-bootstrap-signing') === 'true' &&
    expiresAtMs(token) > nowMs &&
    !isBeingDeleted(token)
  return isGood ? { keyId, secret } : undefined
}
