/**
 * Signs the public `cluster-info` ConfigMap with every bootstrap token that allows signing, so that a joining
 * machine that has only a token can verify the cluster's identity.
 * https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#configmap-signing
 */
import { isApiError } from '#/api/errors.ts'
import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { planSignatures } from './bootstrap-signer/plan.ts'
import { isBootstrapToken } from './bootstrap-tokens/bootstrap-token.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

const clusterInfo = 'kube-public/cluster-info'

export const bootstrapSignerController: Controller = {
  name: 'bootstrap-signer-controller',
  account: 'bootstrap-signer',
  setUp,
}

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const maps = informer(configMaps)
  const allSecrets = informer(secrets)
  const tokens = allSecrets.index('bootstrap tokens', secret => (isBootstrapToken(secret) ? [''] : []))
  maps.addEventHandler(key => {
    if (key === clusterInfo) enqueue(clusterInfo)
  })
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
