/**
 * Enforces `kubernetes.io/enforce-mountable-secrets`: pods may use only the secrets that their service
 * account lists. Covers volumes, env, envFrom and image pull secrets, in all types of containers.
 */
import type { Container, PodSpec, ServiceAccount } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

const annotation = 'kubernetes.io/enforce-mountable-secrets'

export function enforcesMountableSecrets({ metadata }: ServiceAccount): boolean {
  return trueTexts.has(metadata.annotations?.[annotation] ?? '')
}

/** The values that Go's strconv.ParseBool accepts as true. */
const trueTexts: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])

/** Returns the error message for a new pod, if any. */
export function checkSecrets(account: Stored<ServiceAccount>, spec: PodSpec): string | undefined {
  const name = account.metadata.name
  const allowed = allowedSecrets(account)
  for (const { secret } of spec.volumes ?? []) {
    if (secret === undefined || allowed.has(secret.secretName ?? '')) continue
    return (
      `volume with secret.secretName="${secret.secretName ?? ''}" is not allowed because ` +
      `service account ${name} does not reference that secret`
    )
  }
  return (
    checkContainers(account, 'init container', spec.initContainers) ??
    checkContainers(account, 'container', spec.containers) ??
    checkPullSecrets(account, spec.imagePullSecrets)
  )
}

function checkPullSecrets(
  account: Stored<ServiceAccount>,
  wanted: PodSpec['imagePullSecrets'] = [],
): string | undefined {
  const allowed = new Set(account.imagePullSecrets?.map(secret => secret.name))
  const wrong = wanted.findIndex(secret => !allowed.has(secret.name))
  if (wrong === -1) return undefined
  return (
    `imagePullSecrets[${wrong}].name="${wanted[wrong]?.name ?? ''}" is not allowed because ` +
    `service account ${account.metadata.name} does not reference that imagePullSecret`
  )
}

export function checkEphemeralContainers(account: Stored<ServiceAccount>, spec: PodSpec): string | undefined {
  return checkContainers(account, 'ephemeral container', spec.ephemeralContainers)
}

function allowedSecrets({ secrets = [] }: ServiceAccount): ReadonlySet<string> {
  return new Set(secrets.map(secret => secret.name ?? ''))
}

function checkContainers(
  account: Stored<ServiceAccount>,
  what: string,
  containers: readonly Container[] = [],
): string | undefined {
  const allowed = allowedSecrets(account)
  for (const { name, env = [], envFrom = [] } of containers) {
    const sources = [
      ...env.map(variable => ({
        where: `envVar ${variable.name}`,
        secret: variable.valueFrom?.secretKeyRef,
      })),
      ...envFrom.map(source => ({ where: 'envFrom', secret: source.secretRef })),
    ]
    const wrong = sources.find(({ secret }) => secret !== undefined && !allowed.has(secret.name ?? ''))
    if (wrong === undefined) continue
    return (
      `${what} ${name} with ${wrong.where} referencing secret.secretName="${wrong.secret?.name ?? ''}" ` +
      `is not allowed because service account ${account.metadata.name} does not reference that secret`
    )
  }
  return undefined
}
