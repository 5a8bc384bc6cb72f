/**
 * Deletes expired bootstrap tokens.
 * https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
 */
import { isApiError } from '#/api/errors.ts'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import { expiresAtMs, isBootstrapToken } from './shared/bootstrap-token.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const tokenCleanerController: Controller = {
  name: 'token-cleaner-controller',
  queueName: 'token_cleaner',
  account: 'token-cleaner',
  setUp,
}

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const allSecrets = informer(secrets)
  allSecrets.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isBootstrapToken(newObject)) enqueue(key)
  })

  return async ({ key, namespace, name, client, signal }) => {
    const secret = allSecrets.get(key)
    if (secret === undefined || !isBootstrapToken(secret)) return undefined
    const requeueAfterMs = expiresAtMs(secret) - platform.clock.now()
    if (requeueAfterMs === Infinity) return undefined
    if (requeueAfterMs > 0) return { requeueAfterMs }
    const preconditions = { uid: secret.metadata.uid }
    try {
      await client.delete(secrets, { namespace, name }, { preconditions, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return undefined
  }
}
