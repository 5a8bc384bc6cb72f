import type { Claims } from '#/base/json-web-token.ts'
import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { accountNameAnnotation, accountUidAnnotation, refersTo } from '../shared/token-secret.ts'

export interface TokenWorld {
  readonly secret: Secret
  /** The service account that the secret names; undefined if it does not exist. */
  readonly account: Stored<ServiceAccount> | undefined
  /** PEM. */
  readonly caCertificate: string | undefined
}

export type TokenPlan =
  | { readonly action: 'nothing' | 'delete' }
  /** The desired secret; if `claims` is set, a token must be signed and added. */
  | { readonly action: 'fill'; readonly secret: Secret; readonly claims: Claims | undefined }

export function planToken({ secret, account, caCertificate = '' }: TokenWorld): TokenPlan {
  if (account === undefined) return { action: 'delete' }
  const { data = {}, metadata } = secret
  const needsToken = !data['token']
  const namespace = data['namespace'] || base64(metadata.namespace ?? '')
  const certificate = caCertificate === '' ? data['ca.crt'] : base64(caCertificate)
  const isWhole = !needsToken && namespace === data['namespace'] && certificate === data['ca.crt']
  // An immutable secret cannot be completed.
  if (isWhole || secret.immutable) return { action: 'nothing' }
  const { name, uid } = account.metadata
  const annotations = {
    ...metadata.annotations,
    [accountNameAnnotation]: name,
    [accountUidAnnotation]: uid,
  }
  return {
    action: 'fill',
    secret: {
      ...secret,
      metadata: { ...metadata, annotations },
      data: { ...data, namespace, ...(certificate !== undefined && { 'ca.crt': certificate }) },
    },
    claims: needsToken ? claimsOf(account, secret) : undefined,
  }
}

/** Removes references to the secret; the same object if there are none. */
export function planReferences(account: ServiceAccount, secretName: string): ServiceAccount {
  if (!refersTo(account, secretName)) return account
  const { secrets = [], ...rest } = account
  const left = secrets.filter(({ name }) => name !== secretName)
  return left.length === 0 ? rest : { ...rest, secrets: left }
}

/** Claims of a legacy token, which does not expire: it is valid as long as the secret contains it. */
function claimsOf({ metadata: account }: ServiceAccount, { metadata: secret }: Secret): Claims {
  return {
    'iss': 'kubernetes/serviceaccount',
    'kubernetes.io/serviceaccount/namespace': account?.namespace,
    'kubernetes.io/serviceaccount/secret.name': secret?.name,
    'kubernetes.io/serviceaccount/service-account.name': account?.name,
    'kubernetes.io/serviceaccount/service-account.uid': account?.uid,
    'sub': `system:serviceaccount:${account?.namespace}:${account?.name}`,
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
