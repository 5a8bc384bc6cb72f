import type { Claims } from '#/base/json-web-token.ts'
import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import { accountNameAnnotation, accountUidAnnotation, refersTo } from './token-secret.ts'

export interface TokenWorld {
  readonly secret: Secret
  /** The one that the secret is of, if there is such a one. */
  readonly account: ServiceAccount | undefined
  /** PEM. */
  readonly authority: string | undefined
}

export type TokenPlan =
  | { readonly action: 'nothing' | 'delete' }
  /** What the secret is to be, but for the token when there are claims to make one of. */
  | { readonly action: 'fill'; readonly secret: Secret; readonly claims: Claims | undefined }

export function planToken({ secret, account, authority = '' }: TokenWorld): TokenPlan {
  if (account === undefined) return { action: 'delete' }
  const { data = {}, metadata = {} } = secret
  const needsToken = !data['token']
  const namespace = data['namespace'] || base64(metadata.namespace ?? '')
  const certificate = authority === '' ? data['ca.crt'] : base64(authority)
  const isWhole = !needsToken && namespace === data['namespace'] && certificate === data['ca.crt']
  // What may not change any more cannot be helped.
  if (isWhole || secret.immutable) return { action: 'nothing' }
  const { name = '', uid = '' } = account.metadata ?? {}
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

/** The same account when it does not refer to the secret. */
export function planReferences(account: ServiceAccount, secretName: string): ServiceAccount {
  if (!refersTo(account, secretName)) return account
  const { secrets = [], ...rest } = account
  const left = secrets.filter(({ name }) => name !== secretName)
  return left.length === 0 ? rest : { ...rest, secrets: left }
}

/** Such a token does not expire: it is good as long as the secret has it. */
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
