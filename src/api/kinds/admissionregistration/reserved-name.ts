import type { KubernetesObject } from '../../metadata.ts'

const reservedSuffix = '.static.k8s.io'

/** Warns about names reserved for static manifest-based configuration. */
export function warningsForReservedName(object: KubernetesObject): string[] {
  if (object.metadata.name?.endsWith(reservedSuffix) !== true) return []
  return [
    `metadata.name: names ending with "${reservedSuffix}" are reserved for static manifest-based ` +
      'configurations and cannot be managed via the API',
  ]
}
