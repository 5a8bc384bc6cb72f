/** The volumes that a pod's containers mount, according to its spec. Pure. */
import { posix } from 'node:path'
import type { Pod, Volume, Container } from '#/api/generated/core/v1.ts'
import { containersOf } from '../pod-containers.ts'

export interface UsedVolume {
  readonly volume: Volume
  readonly isMounted: boolean
  readonly isDevice: boolean
}

/** Volumes without a user are not set up. */
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

/**
 * Directories that a read-only volume needs as mount points of other volumes within it, relative to the
 * volume. Only the outermost ones.
 */
export function nestedMountPoints(pod: Pod, volume: string): readonly string[] {
  return [...new Set(containersOf(pod).flatMap(({ container }) => nestedIn(container, volume)))]
}

function nestedIn({ volumeMounts = [] }: Container, volume: string): readonly string[] {
  const clean = volumeMounts.map(({ name, mountPath }) => ({
    name,
    path: posix.normalize(mountPath).replace(/(?<=.)\/$/, ''),
  }))
  return clean
    .filter(({ name }) => name === volume)
    .flatMap(({ path: own }) => {
      if (own.startsWith('../')) throw new Error(`invalid container mount point ${own}`)
      const inside = clean.map(({ path }) => path).filter(path => path.startsWith(`${own}/`))
      const outermost = inside.filter(path => !inside.some(other => path.startsWith(`${other}/`)))
      return outermost.map(path => path.slice(own.length + 1))
    })
}
