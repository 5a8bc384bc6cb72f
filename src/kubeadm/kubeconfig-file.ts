/**
 * Creates kubeconfig files with an embedded client certificate. A certificate that is still valid is kept, so
 * that copies of the file continue to work.
 */
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import {
  ensureCertificate,
  type CertificateAuthority,
  type CertificateOptions,
  type KeyAndCertificate,
} from './certificates.ts'
import type { CertificateProfile } from './certificates/profile.ts'
import { readIfExists } from './certificates/read-if-exists.ts'

export interface KubeconfigFileOptions extends CertificateOptions {
  readonly path: string
  readonly ca: CertificateAuthority
  /** The URL of the API server. */
  readonly server: string
  /** The identity in the client certificate. */
  readonly identity: CertificateProfile
}

export async function ensureKubeconfigFile(options: KubeconfigFileOptions): Promise<void> {
  const {
    platform: { files },
    path,
    ca,
    identity,
  } = options
  const before = await readIfExists(files, path)
  const existing = before === undefined ? undefined : readUser(before)
  const pair = await ensureCertificate(options, { profile: identity, ca, existing })
  const text = kubeconfig(options, pair)
  if (text !== before) await files.write(path, text, { mode: 0o600 })
}

const clusterName = 'kubernetes'

function kubeconfig(
  { ca, server, identity }: KubeconfigFileOptions,
  { cert, key }: KeyAndCertificate,
): string {
  const userName = identity.commonName
  const cluster = { 'certificate-authority-data': toBase64(ca.cert), server }
  const user = { 'client-certificate-data': toBase64(cert), 'client-key-data': toBase64(key) }
  const contextName = `${userName}@${clusterName}`
  return stringifyYaml({
    'apiVersion': 'v1',
    'kind': 'Config',
    'clusters': [{ name: clusterName, cluster }],
    'contexts': [{ name: contextName, context: { cluster: clusterName, user: userName } }],
    'current-context': contextName,
    'preferences': {},
    'users': [{ name: userName, user }],
  })
}

/** The first user of a kubeconfig, if it has an embedded certificate and key. */
function readUser(text: string): KeyAndCertificate | undefined {
  const users = member(parseIfYaml(text), 'users')
  const user = Array.isArray(users) ? member(users[0], 'user') : undefined
  const cert = member(user, 'client-certificate-data')
  const key = member(user, 'client-key-data')
  if (typeof cert !== 'string' || typeof key !== 'string') return undefined
  return { cert: fromBase64(cert), key: fromBase64(key) }
}

function parseIfYaml(text: string): JsonValue | undefined {
  try {
    return parseYaml(text)
  } catch {
    return undefined
  }
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString()
}
