/**
 * Sets the default storage class on PersistentVolumeClaims that name none.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#defaultstorageclass
 */
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { matchesResource, type AdmissionPlugin } from '../admission-chain.ts'
import { defaultClass } from './default-class.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import type { PluginContext } from '../plugin-context.ts'

export function defaultStorageClass({ cache }: PluginContext): AdmissionPlugin {
  const chosen = new CachedDerivation(cache, storageClasses, classes => defaultClass(classes, markers))
  return {
    name: 'DefaultStorageClass',
    handles: target => target.operation === 'CREATE' && matchesResource(target, 'persistentvolumeclaims'),
    mutate: ({ object }) => {
      const claim = object as PersistentVolumeClaim
      if (hasClass(claim)) return claim
      const name = chosen.value?.metadata.name
      if (name === undefined) return claim
      const classed: PersistentVolumeClaim = { ...claim, spec: { ...claim.spec, storageClassName: name } }
      return classed
    },
  }
}

const markers = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

/** Legacy annotation that names the storage class. An empty value means no class, so no default is set. */
export const classAnnotation = 'volume.beta.kubernetes.io/storage-class'

function hasClass({ metadata, spec }: PersistentVolumeClaim): boolean {
  return spec?.storageClassName !== undefined || metadata.annotations?.[classAnnotation] !== undefined
}
