/**
 * Token controller: fills service account token secrets, deletes those without an existing service account,
 * and removes references to deleted secrets from service accounts.
 * https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#tokencontroller
 */
import type { Claims } from '#/base/json-web-token.ts'
import { isApiError } from '#/api/errors.ts'
import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import { secrets, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { formatKey, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { planReferences, planToken } from './service-account-tokens/plan.ts'
import { accountKeyOf, accountOf, isAccountToken, isTokenOf } from './shared/token-secret.ts'

export interface ServiceAccountTokensSettings {
  /** Signs with a key that the API server trusts. */
  readonly sign: (claims: Claims) => string
  /** CA certificate of the cluster, PEM; without it `ca.crt` is not set. */
  readonly caCertificate?: string
}

export function serviceAccountTokensController(settings: ServiceAccountTokensSettings): Controller {
  return {
    name: 'serviceaccount-token-controller',
    queueName: 'serviceaccount_tokens_service',
    setUp: context => setUp(context, settings),
  }
}

function setUp({ informer, enqueue }: ControllerContext, settings: ServiceAccountTokensSettings): Reconcile {
  const allSecrets = informer(secrets)
  const accounts = informer(serviceAccounts)
  const ofAccount = allSecrets.index('service account', secret => {
    return isAccountToken(secret) ? [accountKeyOf(secret)] : []
  })
  allSecrets.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject !== undefined && isAccountToken(newObject)) enqueue(key)
    if (newObject === undefined && isAccountToken(oldObject)) enqueue(referenceKey(oldObject))
  })
  accounts.addEventHandler((key, { oldObject, newObject }) => {
    if (oldObject?.metadata.uid === newObject?.metadata.uid) return
    for (const secretKey of ofAccount.keys(key)) enqueue(secretKey)
  })

  return async work => {
    const reference = readReferenceKey(work.key)
    if (reference !== undefined) return dereference(reference, work)
    const secret = allSecrets.get(work.key)
    if (secret === undefined || !isAccountToken(secret) || isBeingDeleted(secret)) return
    const account = await findAccount(secret, work)
    const plan = planToken({ secret, account, caCertificate: settings.caCertificate })
    if (plan.action !== 'fill') return plan.action === 'delete' ? remove(secret, work) : undefined
    const { claims, secret: filled } = plan
    const token = claims && { token: Buffer.from(settings.sign(claims)).toString('base64') }
    await unlessGone(work.client.update(secrets, { ...filled, data: { ...filled.data, ...token } }))
  }

  /** Confirmed with the API server before the account counts as missing: the informer may lag behind. */
  async function findAccount(
    secret: Secret,
    { client }: ReconcileRequest,
  ): Promise<Stored<ServiceAccount> | undefined> {
    const known = accounts.get(accountKeyOf(secret))
    if (known !== undefined && isTokenOf(secret, known)) return known
    const found = await client.find(serviceAccounts, accountOf(secret))
    return found !== undefined && isTokenOf(secret, found) ? found : undefined
  }

  async function dereference(
    { secretKey, secretName, accountKey }: Reference,
    work: ReconcileRequest,
  ): Promise<void> {
    const account = accounts.get(accountKey)
    // A new secret with the same name may exist.
    if (account === undefined || allSecrets.get(secretKey) !== undefined) return
    const changed = planReferences(account, secretName)
    if (changed !== account) await unlessGone(work.client.update(serviceAccounts, changed))
  }
}

async function remove({ metadata }: Stored<Secret>, { client }: ReconcileRequest): Promise<void> {
  const { namespace, name, uid } = metadata
  await unlessGone(client.delete(secrets, { namespace, name }, { preconditions: { uid } }))
}

async function unlessGone(writing: Promise<unknown>): Promise<void> {
  try {
    await writing
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

/** A reference to a deleted secret that a service account may still have. */
interface Reference {
  readonly secretKey: string
  readonly secretName: string
  readonly accountKey: string
}

/** Contains two slashes, so it cannot be the key of a secret. */
function referenceKey(secret: Secret): string {
  return [secret.metadata.namespace, secret.metadata.name, accountOf(secret).name].join('/')
}

function readReferenceKey(key: string): Reference | undefined {
  const [namespace = '', secretName = '', account] = key.split('/')
  if (account === undefined) return undefined
  const accountKey = formatKey({ namespace, name: account })
  return { secretKey: formatKey({ namespace, name: secretName }), secretName, accountKey }
}
