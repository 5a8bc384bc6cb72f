/**
 * Creates kubeconfig files with an embedded client certificate. A certificate that is still valid is kept, so
 * that copies of the file continue to work.
 */
import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
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
  readonly clusterName?: string | undefined
}

export async function ensureKubeconfigFile(options: KubeconfigFileOptions): Promise<void> {
  const {
    platform: { files },
    path,
    ca,
    identity,
  } = options
  const before = await readIfExists(files, path)
  const existing = before === undefined ? undefined : readEmbeddedCertificate(before)
  const pair = await ensureCertificate(options, { profile: identity, ca, existing })
  const text = formatKubeconfig({
    clusterName: options.clusterName,
    caCertificates: ca.cert,
    server: options.server,
    userName: identity.commonName,
    user: pair,
  })
  if (text !== before) await files.write(path, text, { mode: 0o600 })
}

const defaultClusterName = 'kubernetes'

export interface KubeconfigText {
  readonly clusterName?: string | undefined
  /** PEM. */
  readonly caCertificates: string
  readonly server: string
  /** The name in the certificate of the API server, if it is not that of the URL. */
  readonly serverName?: string | undefined
  readonly userName: string
  readonly user: UserCredentials
}

export type UserCredentials = KeyAndCertificate | { readonly token: string }

/** A kubeconfig with one context. */
export function formatKubeconfig(options: KubeconfigText): string {
  const { clusterName = defaultClusterName, caCertificates, server, serverName, userName, user } = options
  const cluster = {
    'certificate-authority-data': toBase64(caCertificates),
    server,
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
  }
  const contextName = `${userName}@${clusterName}`
  return stringifyYaml({
    'apiVersion': 'v1',
    'kind': 'Config',
    'clusters': [{ name: clusterName, cluster }],
    'contexts': [{ name: contextName, context: { cluster: clusterName, user: userName } }],
    'current-context': contextName,
    'preferences': {},
    'users': [{ name: userName, user: userEntry(user) }],
  })
}

function userEntry(user: UserCredentials): JsonObject {
  if ('token' in user) return { token: user.token }
  return { 'client-certificate-data': toBase64(user.cert), 'client-key-data': toBase64(user.key) }
}

/** The credentials of the first user of a kubeconfig, if it has an embedded certificate and key. */
export function readEmbeddedCertificate(text: string): KeyAndCertificate | undefined {
  const user = member(firstUser(text), 'user')
  const cert = member(user, 'client-certificate-data')
  const key = member(user, 'client-key-data')
  if (typeof cert !== 'string' || typeof key !== 'string') return undefined
  return { cert: fromBase64(cert), key: fromBase64(key) }
}

export interface ClusterAccess {
  /** The URL of the API server. */
  readonly server: string
  /** The name in its certificate, if it is not that of the URL. */
  readonly serverName?: string
  /** PEM. */
  readonly caCertificates: string
}

/** The first cluster of a kubeconfig, if it has a server and an embedded certificate authority. */
export function readClusterAccess(text: string): ClusterAccess | undefined {
  const clusters = member(parseIfYaml(text), 'clusters')
  const cluster = Array.isArray(clusters) ? member(clusters[0], 'cluster') : undefined
  const server = member(cluster, 'server')
  const authority = member(cluster, 'certificate-authority-data')
  if (typeof server !== 'string' || !URL.canParse(server) || typeof authority !== 'string') return undefined
  return { server, caCertificates: fromBase64(authority) }
}

/** Replaces the credentials of the first user; everything else stays. */
export function replaceEmbeddedCertificate(text: string, pair: KeyAndCertificate): string {
  const config = parseYaml(text)
  const entry = firstUser(text)
  if (!isObject(config) || !isObject(entry)) throw new Error('the kubeconfig has no user')
  const user = member(entry, 'user')
  const replaced = { ...entry, user: { ...(isObject(user) && user), ...userEntry(pair) } }
  const others = Array.isArray(config['users']) ? config['users'].slice(1) : []
  return stringifyYaml({ ...config, users: [replaced, ...others] })
}

function firstUser(text: string): JsonValue | undefined {
  const users = member(parseIfYaml(text), 'users')
  return Array.isArray(users) ? users[0] : undefined
}

function parseIfYaml(text: string): JsonValue | undefined {
  try {
    return parseYaml(text)
  } catch {
    return undefined
  }
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) ? get(value, name) : undefined
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString()
}
