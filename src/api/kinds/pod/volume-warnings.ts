/** Warnings about volumes: removed volume types, overlapping paths in a volume. */
import type { DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection } from '../../generated/core/v1.ts'
import { quote } from '../../text/quote.ts'
import { warningsForFractions } from './resource-warnings.ts'

export function warningsForVolumes(field: string, volumes: readonly Volume[]): string[] {
  return [
    ...volumes.flatMap((volume, index) => warningsForSource(`${field}[${index}]`, volume)),
    ...volumes.flatMap(warningsForOverlaps),
  ]
}

const lostSources: readonly (readonly [keyof Volume, string, string?])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+', 'storageOS'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]

function warningsForSource(field: string, volume: Volume): string[] {
  const warnings = lostSources.flatMap(([name, message, shownName = name]) => {
    return volume[name] === undefined ? [] : [`${field}.${shownName}: ${message}`]
  })
  const resources = volume.ephemeral?.volumeClaimTemplate?.spec?.resources
  const place = `${field}.ephemeral.volumeClaimTemplate.spec.resources`
  return [
    ...warnings,
    ...warningsForFractions(`${place}.requests`, resources?.requests),
    ...warningsForFractions(`${place}.limits`, resources?.limits),
  ]
}

interface File {
  readonly path: string
  /** Origin of the file, for the warning; empty if obvious. */
  readonly source: string
}

function warningsForOverlaps(volume: Volume): string[] {
  const { name, configMap, secret, downwardAPI, projected } = volume
  const complain = (title: string, files: readonly File[]): string[] => {
    return overlapsOf(files).map(overlap => `volume ${quote(name)} (${title}): overlapping paths: ${overlap}`)
  }
  const empty = (projected?.sources ?? []).filter(source => Object.keys(source).length === 0)
  return [
    ...complain(`ConfigMap ${quote(configMap?.name ?? '')}`, filesOf(configMap?.items, '')),
    ...complain(`Secret ${quote(secret?.secretName ?? '')}`, filesOf(secret?.items, '')),
    ...complain('DownwardAPI', filesOf(downwardAPI?.items, '')),
    ...empty.map(() => `volume ${quote(name)} (Projected) has no sources provided`),
    ...complain('Projected', (projected?.sources ?? []).flatMap(projectedFiles)),
  ]
}

function filesOf(items: readonly (KeyToPath | DownwardAPIVolumeFile)[] | undefined, source: string): File[] {
  return (items ?? []).map(({ path }) => ({ path: (path ?? '').replace(/\/+$/, ''), source }))
}

function projectedFiles({ configMap, secret, downwardAPI, serviceAccountToken }: VolumeProjection): File[] {
  if (configMap?.items) return filesOf(configMap.items, `ConfigMap ${quote(configMap.name ?? '')}`)
  if (secret?.items) return filesOf(secret.items, `Secret ${quote(secret.name ?? '')}`)
  if (downwardAPI?.items) return filesOf(downwardAPI.items, 'DownwardAPI')
  return serviceAccountToken ? [{ path: serviceAccountToken.path ?? '', source: 'ServiceAccountToken' }] : []
}

/** Maximum number of files of a volume that are compared pairwise. */
const comparedFilesMax = 500

/** Reports files with the same path, and files whose path is a directory of other files. */
function overlapsOf(files: readonly File[]): string[] {
  const named = files.filter(file => file.path !== '').slice(0, comparedFilesMax)
  return named.flatMap((file, index) =>
    named.slice(0, index).flatMap(other => {
      const isInside =
        `${file.path}/`.startsWith(`${other.path}/`) || `${other.path}/`.startsWith(`${file.path}/`)
      return isInside ? [`${showFile(file)} with ${showFile(other)}`] : []
    }),
  )
}

function showFile({ path, source }: File): string {
  return source === '' ? quote(path) : `${quote(path)} (${source})`
}
