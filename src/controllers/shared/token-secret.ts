/** Service account token secrets; annotations name the service account. */
import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import { formatKey, type NamespacedName } from '#/api/metadata.ts'

export const accountNameAnnotation = 'kubernetes.io/service-account.name'
export const accountUidAnnotation = 'kubernetes.io/service-account.uid'

export function isAccountToken({ type }: Secret): boolean {
  return type === 'kubernetes.io/service-account-token'
}

/** The service account that the secret names. */
export function accountOf({ metadata }: Secret): NamespacedName {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.annotations?.[accountNameAnnotation] ?? '',
  }
}

export function accountKeyOf(secret: Secret): string {
  return formatKey(accountOf(secret))
}

/** True if the uid annotation matches; a secret without it matches by name. */
export function isTokenOf(secret: Secret, account: ServiceAccount): boolean {
  const uid = secret.metadata.annotations?.[accountUidAnnotation] ?? ''
  return accountOf(secret).name === account.metadata.name && (uid === '' || uid === account.metadata.uid)
}

export function refersTo(account: ServiceAccount, secretName: string): boolean {
  return account.secrets?.some(reference => reference.name === secretName) ?? false
}
