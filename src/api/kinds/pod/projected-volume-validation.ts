/** Validation of projected volumes: the paths of all sources must be distinct. */
import { forbiddenField, invalid, required, type FieldError } from '../../field-error.ts'
import type {
  KeyToPath,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../generated/core/v1.ts'
import { validatePresent } from '../validation/field-checks.ts'
import { validateFileMode, validateKeyPaths, validateLocalNonReservedPath } from '../validation/paths.ts'
import { validateDownwardApiFile } from './volume-source-validation.ts'

export function validateProjected(
  field: string,
  { defaultMode, sources }: ProjectedVolumeSource,
): FieldError[] {
  const paths = new Set<string>()
  return [
    ...validateFileMode(`${field}.defaultMode`, defaultMode),
    ...(sources ?? []).flatMap((source, index) => [
      ...validateSource(`${field}.sources[${index}]`, field, source),
      ...conflictsOf(field, source, paths),
    ]),
  ]
}

function validateSource(field: string, volumeField: string, source: VolumeProjection): FieldError[] {
  const { secret, configMap, downwardAPI, serviceAccountToken } = source
  const errors: FieldError[] = []
  if (secret) errors.push(...validateKeys(`${field}.secret`, secret))
  if (configMap) errors.push(...validateKeys(`${field}.configMap`, configMap))
  for (const file of downwardAPI?.items ?? [])
    errors.push(...validateDownwardApiFile(`${field}.downwardAPI`, file))
  if (serviceAccountToken) {
    errors.push(...validateToken(`${field}.serviceAccountToken`, volumeField, serviceAccountToken))
  }
  const count = [secret, configMap, downwardAPI, serviceAccountToken].filter(
    each => each !== undefined,
  ).length
  if (count > 1) errors.push(forbiddenField(field, 'may not specify more than 1 volume type per source'))
  return errors
}

function validateKeys(field: string, keys: { name?: string; items?: readonly KeyToPath[] }): FieldError[] {
  return [...validatePresent(`${field}.name`, keys.name), ...validateKeyPaths(`${field}.items`, keys.items)]
}

const tokenSecondsMin = 600
const tokenSecondsMax = 2 ** 32

/** As in Kubernetes, errors about the token path are reported at the volume. */
function validateToken(
  field: string,
  volumeField: string,
  token: ServiceAccountTokenProjection,
): FieldError[] {
  const { expirationSeconds = 0, path } = token
  const errors: FieldError[] = []
  if (expirationSeconds < tokenSecondsMin) {
    const detail = 'may not specify a duration less than 10 minutes'
    errors.push(invalid(`${field}.expirationSeconds`, expirationSeconds, detail))
  }
  if (expirationSeconds > tokenSecondsMax) {
    const detail = 'may not specify a duration larger than 2^32 seconds'
    errors.push(invalid(`${field}.expirationSeconds`, expirationSeconds, detail))
  }
  if (!path) return [...errors, required(`${volumeField}.path`, '')]
  return [...errors, ...validateLocalNonReservedPath(`${volumeField}.path`, path)]
}

/** Reports paths that are already taken and records the paths of the source. */
function conflictsOf(field: string, source: VolumeProjection, paths: Set<string>): FieldError[] {
  const { secret, configMap, downwardAPI } = source
  const entries = [
    ...(secret?.items ?? []).map(item => [item.path, secret?.name]),
    ...(configMap?.items ?? []).map(item => [item.path, configMap?.name]),
    ...(downwardAPI?.items ?? []).map(item => [item.path, item.path]),
  ]
  return entries.flatMap(([path, blamed]) => {
    if (!path) return []
    if (paths.has(path)) return [invalid(field, blamed ?? '', 'conflicting duplicate paths')]
    paths.add(path)
    return []
  })
}
