/**
 * The ConfigMap `extension-apiserver-authentication`, which tells extension servers how to authenticate users: the CA
 * of client certificates, and the CA and headers of front proxies. It is kept as long as the server runs. API servers
 * with different settings share it: each adds its own settings and removes only expired certificates.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/
 */
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import type { AuthenticationSettings } from '../authn.ts'
import { readCertificates } from '../authn/certificate-chain.ts'
import { createObject } from '../registry/create-object.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf } from '../registry/store-keys.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { updateObject } from '../registry/update-object.ts'

export type AuthenticationTrust = Readonly<Record<string, string>>

const namespace = 'kube-system'
const name = 'extension-apiserver-authentication'

/** Resolves when the ConfigMap contains the settings. Without any there is no ConfigMap. */
export async function publishAuthenticationTrust(
  registry: Registry,
  settings: AuthenticationSettings,
): Promise<void> {
  const own = authenticationTrust(settings)
  if (Object.keys(own).length === 0) return
  const request = systemWriteRequest(configMaps, name, namespace)
  const nowMs = registry.platform.clock.now()
  const data = combineTrust({}, own, nowMs)
  const object: ConfigMap = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { namespace, name }, data }
  try {
    await createObject(registry, request, object)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
    await updateObject(registry, request, {
      change: current =>
        ({ ...current, data: combineTrust((current as ConfigMap).data ?? {}, own, nowMs) }) as ConfigMap,
    })
  }
}

/** Publishes the settings again whenever the ConfigMap changes, until aborted. */
export function keepAuthenticationTrust(
  registry: Registry,
  settings: AuthenticationSettings,
  signal: AbortSignal,
): void {
  const key = keyOf(configMaps, namespace, name)
  const publish = (): void => {
    publishAuthenticationTrust(registry, settings).catch((error: unknown) => {
      if (!signal.aborted) registry.platform.log.warn('Failed to publish authentication info', { error })
    })
  }
  const subscriber = { onEvents: publish, onReset: publish }
  registry.cache.subscribe(key, subscriber)
  signal.addEventListener('abort', () => registry.cache.unsubscribe(key, subscriber), { once: true })
}

/** The content of the ConfigMap for one API server. */
export function authenticationTrust({
  certificates,
  frontProxy,
}: AuthenticationSettings): AuthenticationTrust {
  const clientCa = certificates?.authorities
  return {
    ...(clientCa && { 'client-ca-file': clientCa }),
    ...(frontProxy && {
      'requestheader-username-headers': JSON.stringify(frontProxy.usernameHeaders ?? ['X-Remote-User']),
      'requestheader-uid-headers': JSON.stringify(frontProxy.uidHeaders ?? ['X-Remote-Uid']),
      'requestheader-group-headers': JSON.stringify(frontProxy.groupHeaders ?? ['X-Remote-Group']),
      'requestheader-extra-headers-prefix': JSON.stringify(
        frontProxy.extraHeaderPrefixes ?? ['X-Remote-Extra-'],
      ),
      'requestheader-client-ca-file': frontProxy.authorities,
      'requestheader-allowed-names': JSON.stringify(frontProxy.allowedNames),
    }),
  }
}

/** The stored content with that of this server. Entries that cannot be read are replaced. */
export function combineTrust(
  stored: AuthenticationTrust,
  own: AuthenticationTrust,
  nowMs: number,
): AuthenticationTrust {
  const combined: Record<string, string> = { ...stored }
  for (const [key, value] of Object.entries(own)) {
    const combine = key.endsWith('-ca-file') ? combineCertificates : combineNames
    combined[key] = combine(stored[key] ?? '', value, nowMs)
  }
  return combined
}

function combineCertificates(stored: string, own: string, nowMs: number): string {
  const kept = new Map<string, string>()
  for (const bundle of [stored, own]) {
    for (const certificate of certificatesIn(bundle)) {
      if (certificate.validToDate.getTime() > nowMs)
        kept.set(certificate.fingerprint256, certificate.toString())
    }
  }
  return [...kept.values()].join('')
}

function certificatesIn(bundle: string): ReturnType<typeof readCertificates> {
  try {
    return readCertificates(bundle)
  } catch {
    return []
  }
}

function combineNames(stored: string, own: string): string {
  return JSON.stringify([...new Set([...namesIn(stored), ...namesIn(own)])])
}

function namesIn(list: string): readonly unknown[] {
  try {
    const names = JSON.parse(list) as unknown
    return Array.isArray(names) ? names : []
  } catch {
    return []
  }
}
