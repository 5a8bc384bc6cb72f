import type { PullCredential, SecretSource } from './pull-credentials.ts'

/** With what an image was pulled; the names are those of Kubernetes, since the files are. */
export interface PulledRecord {
  readonly imageRef: string
  readonly lastUpdatedTime: string
  /** By repository. */
  readonly credentialMapping: Readonly<Record<string, PulledWith>>
}

export interface PulledWith {
  /** Without credentials: every pod may use it. */
  readonly nodePodsAccessible?: boolean
  readonly kubernetesSecrets?: readonly PulledSecret[]
}

export interface PulledSecret extends SecretSource {
  readonly credentialHash: string
}

export interface AccessWorld {
  /** Absent for an image that nobody pulled through this kubelet. */
  readonly record?: PulledRecord
  /** A pull was begun of which it is not known how it ended. */
  readonly isPulling: boolean
  readonly repository: string
  readonly credentials: readonly PullCredential[]
}

/**
 * Whether a pod may use an image that is there, because it came otherwise, or because the pod has what it was pulled
 * with. Otherwise it has to be pulled again, so that the registry decides.
 * https://kubernetes.io/docs/concepts/containers/images/#ensureimagepullcredentialverification
 */
export function mayUse({ record, isPulling, repository, credentials }: AccessWorld): boolean {
  if (record === undefined) return !isPulling
  const pulled = record.credentialMapping[repository]
  if (pulled?.nodePodsAccessible) return true
  return credentials.some(credential => pulled?.kubernetesSecrets?.some(secret => isSame(secret, credential)))
}

/** Secrets that one record has; the oldest goes. */
const secretsMax = 100

/** The record of one more pull; undefined when it says so already. */
export function withPull(
  record: PulledRecord | undefined,
  { imageRef, repository, credential, now }: RecordedPull,
): PulledRecord | undefined {
  const before = record?.credentialMapping[repository]
  if (before?.nodePodsAccessible) return undefined
  const pulled = credential ? withSecret(before, credential) : { nodePodsAccessible: true }
  if (pulled === undefined) return undefined
  const credentialMapping = { ...record?.credentialMapping, [repository]: pulled }
  return { imageRef, lastUpdatedTime: now, credentialMapping }
}

export interface RecordedPull {
  readonly imageRef: string
  readonly repository: string
  /** Absent when none was needed. */
  readonly credential?: PullCredential
  readonly now: string
}

function withSecret(
  before: PulledWith | undefined,
  { hash, source }: PullCredential,
): PulledWith | undefined {
  const secrets = before?.kubernetesSecrets ?? []
  const added: PulledSecret = { ...source, credentialHash: hash }
  if (secrets.some(secret => secret.credentialHash === hash && isSameSource(secret, source))) return undefined
  const others = secrets.filter(secret => !isSameSource(secret, source))
  return { kubernetesSecrets: [...others, added].slice(-secretsMax) }
}

/** A secret that was changed is still the one that was allowed; another one with the same content is as good. */
function isSame(secret: PulledSecret, { hash, source }: PullCredential): boolean {
  return (secret.credentialHash !== '' && secret.credentialHash === hash) || isSameSource(secret, source)
}

function isSameSource(a: SecretSource, b: SecretSource): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name
}
