/** Volumes that containers of a pod use; unused ones are not set up. Pure. */
import type { Pod, Volume } from '#/api/generated/core/v1.ts'
import { containersOf } from '../pod-containers.ts'

export interface UsedVolume {
  readonly volume: Volume
  readonly isMounted: boolean
  readonly isDevice: boolean
}

export function usedVolumes(pod: Pod): readonly UsedVolume[] {
  const containers = containersOf(pod).map(({ container }) => container)
  const mounted = new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)))
  const devices = new Set(
    containers.flatMap(({ volumeDevices = [] }) => volumeDevices.map(({ name }) => name)),
  )
  return (pod.spec?.volumes ?? [])
    .map(volume => ({ volume, isMounted: mounted.has(volume.name), isDevice: devices.has(volume.name) }))
    .filter(({ isMounted, isDevice }) => isMounted || isDevice)
}
