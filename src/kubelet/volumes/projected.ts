/** Projected volumes: ConfigMaps, Secrets, downward API and service account tokens. */
import type { Pod, VolumeProjection } from '#/api/generated/core/v1.ts'
import { containersOf } from '../pod-containers.ts'
import { configMapPayload } from './config-map.ts'
import { contentVolumePlugin, mergePayloads } from './content-volume-plugin.ts'
import { downwardPayload } from './downward-api.ts'
import { fsGroupOf } from './ownership.ts'
import { defaultFileMode, type Payload } from './payload.ts'
import { secretPayload } from './secret.ts'
import type { VolumeRequest } from './volume-plugin.ts'

export const projected = contentVolumePlugin({
  kind: 'projected',
  medium: 'Memory',
  collect: request => {
    const { sources = [], defaultMode = defaultFileMode } = request.volume.projected ?? {}
    return mergePayloads(sources.map(source => () => sourcePayload(request, source, defaultMode)))
  },
})

async function sourcePayload(
  request: VolumeRequest,
  source: VolumeProjection,
  defaultMode: number,
): Promise<Payload> {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source
  if (secret) return secretPayload(request, { ...secret, defaultMode })
  if (configMap) return configMapPayload(request, { ...configMap, defaultMode })
  if (downwardAPI) return downwardPayload(request, downwardAPI.items, defaultMode)
  if (serviceAccountToken) {
    const content = await request.tokens.get(request.pod, serviceAccountToken, request.signal)
    return new Map([
      [
        serviceAccountToken.path,
        { content, encoding: 'utf8' as const, ...tokenOwner(request.pod, defaultMode) },
      ],
    ])
  }
  if (source.clusterTrustBundle)
    throw new Error('ClusterTrustBundle projection is not supported by this node')
  if (source.podCertificate) throw new Error('PodCertificate projection is not supported by this node')
  return new Map()
}

/**
 * If all containers run as one user, or with `fsGroup`, the token is readable only by that user and the
 * volume's group; otherwise it has the default mode.
 */
export function tokenOwner(pod: Pod, defaultMode: number): { readonly mode: number; readonly uid?: number } {
  const uid = onlyUserOf(pod)
  const mode = uid === undefined && fsGroupOf(pod) === undefined ? defaultMode : 0o600
  return { mode, ...(uid !== undefined && { uid }) }
}

function onlyUserOf(pod: Pod): number | undefined {
  const ofPod = pod.spec?.securityContext?.runAsUser
  const users = new Set(
    containersOf(pod).map(({ container }) => container.securityContext?.runAsUser ?? ofPod),
  )
  const [user] = users
  return users.size === 1 && user !== undefined ? Number(user) : undefined
}
