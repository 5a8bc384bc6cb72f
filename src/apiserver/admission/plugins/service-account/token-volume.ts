/** The projected volume with the service account token. */
import type { Container, Pod, Volume } from '#/api/generated/core/v1.ts'
import { generateName } from '#/api/names.ts'
import type { Random } from '#/platform/platform.ts'
import { specOf, withSpec } from '../pod-spec.ts'

/**
 * Mounts the token volume in every container that has no mount at that path. Returns the same pod if none
 * needs it.
 */
export function withTokenVolume(pod: Pod, random: Random): Pod {
  const { volumes = [], initContainers = [], containers } = specOf(pod)
  if (![...initContainers, ...containers].some(needsMount)) return pod
  const existing = volumes.find(volume => volume.name?.startsWith(volumePrefix))
  const name = existing?.name ?? generateName(volumePrefix, random)
  const mount = <C extends Container>(container: C): C =>
    needsMount(container)
      ? {
          ...container,
          volumeMounts: [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }],
        }
      : container
  return withSpec(pod, {
    containers: containers.map(mount),
    ...(initContainers.length > 0 && { initContainers: initContainers.map(mount) }),
    ...(!existing && { volumes: [...volumes, tokenVolume(name)] }),
  })
}

const volumePrefix = 'kube-api-access-'

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

function needsMount({ volumeMounts = [] }: Container): boolean {
  return !volumeMounts.some(mount => mount.mountPath === mountPath)
}

/**
 * Token requests with exactly this expiration are recognized as injected by this plugin and get an extended
 * lifetime.
 */
const expirationSeconds = 3_607

const readableMode = 0o644

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      defaultMode: readableMode,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    },
  }
}
