/** Rules of ServiceAccount. */
import type { ServiceAccount } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { annotationOf } from '../../metadata.ts'
import { mapCopyOnWrite, withField } from '../../copy-on-write.ts'

export const serviceAccountRules: KindRules<ServiceAccount> = {
  prepareForCreate: withPlainSecrets,
  prepareForUpdate: withPlainSecrets,
  warnings: warningsForServiceAccount,
  returnDeletedObject: true,
}

const enforceMountableSecrets = 'kubernetes.io/enforce-mountable-secrets'

/** Keeps only the names of the secret references. */
function withPlainSecrets(account: ServiceAccount): ServiceAccount {
  return withField(account, 'secrets', secrets =>
    mapCopyOnWrite(secrets, secret => {
      const { name } = secret
      const isPlain = Object.keys(secret).every(key => key === 'name')
      return isPlain ? secret : { ...(name && { name }) }
    }),
  )
}

function warningsForServiceAccount(account: ServiceAccount, old: ServiceAccount | undefined): string[] {
  const isOld = old !== undefined && annotationOf(old, enforceMountableSecrets) !== undefined
  if (isOld || annotationOf(account, enforceMountableSecrets) === undefined) return []
  const advice = 'prefer separate namespaces to isolate access to mounted secrets'
  return [`metadata.annotations[${enforceMountableSecrets}]: deprecated in v1.32+; ${advice}`]
}
