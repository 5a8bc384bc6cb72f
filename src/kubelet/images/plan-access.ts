import type { PullCredential, SecretSource } from './pull-credentials.ts'

/** Credentials that an image was pulled with, in the format of the kubelet's ImagePulledRecord files. */
export interface ImagePulledRecord {
  readonly imageRef: string
  readonly lastUpdatedTime: string
  /** By repository. */
  readonly credentialMapping: Readonly<Record<string, PulledWith>>
}

export interface PulledWith {
  /** Pulled without credentials: every pod may use the image. */
  readonly nodePodsAccessible?: boolean
  readonly kubernetesSecrets?: readonly PulledSecret[]
}

export interface PulledSecret extends SecretSource {
  readonly credentialHash: string
}

export interface PullAccessInput {
  /** Absent if this kubelet has not pulled the image. */
  readonly record?: ImagePulledRecord
  /** A pull was started and its outcome is unknown. */
  readonly hasPullIntent: boolean
  readonly repository: string
  readonly credentials: readonly PullCredential[]
}

/**
 * False if a pod may use an image that is present: it was not pulled by the kubelet, or the pod has
 * credentials that it was pulled with. Otherwise it is pulled again, so that the registry decides.
 * https://kubernetes.io/docs/concepts/containers/images/#ensureimagepullcredentialverification
 */
export function mustAttemptImagePull({
  record,
  hasPullIntent,
  repository,
  credentials,
}: PullAccessInput): boolean {
  if (record === undefined) return hasPullIntent
  const pulled = record.credentialMapping[repository]
  if (pulled?.nodePodsAccessible) return false
  return !credentials.some(credential =>
    pulled?.kubernetesSecrets?.some(secret => isSame(secret, credential)),
  )
}

/** Maximum number of secrets per record; the oldest is dropped. */
const secretsMax = 100

/** Adds a pull to the record; undefined if the record is unchanged. */
export function recordPull(
  record: ImagePulledRecord | undefined,
  { imageRef, repository, credential, now }: RecordedPull,
): ImagePulledRecord | undefined {
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
  /** Absent for an anonymous pull. */
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

/** Matches the same secret after its content changed, and a different secret with the same content. */
function isSame(secret: PulledSecret, { hash, source }: PullCredential): boolean {
  return (secret.credentialHash !== '' && secret.credentialHash === hash) || isSameSource(secret, source)
}

function isSameSource(a: SecretSource, b: SecretSource): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name
}
