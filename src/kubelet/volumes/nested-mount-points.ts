/** Directories that a read-only volume needs as mount points of other volumes within it. Pure. */
import { posix } from 'node:path'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { containersOf } from '../pod-containers.ts'

/** Relative to the volume; only the outermost ones. */
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
