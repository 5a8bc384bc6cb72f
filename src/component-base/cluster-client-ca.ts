/**
 * Follows the authorities of client certificates that the API server publishes in the ConfigMap
 * `extension-apiserver-authentication`, for components without `--client-ca-file`.
 */
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { Informers } from '#/client/informers.ts'
import type { Platform } from '#/platform/platform.ts'

export interface ClusterClientCaOptions {
  readonly platform: Platform
  /** May read the ConfigMap, as with the Role `extension-apiserver-authentication-reader`. */
  readonly client: Client
  /** Called with PEM when the authorities have changed. */
  readonly onChange: (clientCa: string) => void
}

/** Runs until aborted. */
export async function followClusterClientCa(
  { platform, client, onChange }: ClusterClientCaOptions,
  signal: AbortSignal,
): Promise<void> {
  const informers = new Informers({ platform, client })
  const fieldSelector = 'metadata.name=extension-apiserver-authentication'
  let current = ''
  informers.of(configMaps, { namespace: 'kube-system', fieldSelector }).addEventHandler((_key, change) => {
    const next = change.newObject?.data?.['client-ca-file'] ?? ''
    if (next === '' || next === current) return
    current = next
    onChange(next)
  })
  await informers.run(signal)
}
