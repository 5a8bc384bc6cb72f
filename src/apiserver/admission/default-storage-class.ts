/**
 * Sets the default storage class on PersistentVolumeClaims that name none.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#defaultstorageclass
 */
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { isAbout, type AdmissionPlugin } from './admission.ts'
import { defaultClass } from './default-class.ts'
import { Derived } from './derived.ts'
import type { PluginContext } from './plugin-context.ts'

export function defaultStorageClass({ cache }: PluginContext): AdmissionPlugin {
  const chosen = new Derived(cache, storageClasses, classes => defaultClass(classes, markers))
  return {
    name: 'DefaultStorageClass',
    handles: target => target.operation === 'CREATE' && isAbout(target, 'persistentvolumeclaims'),
    mutate: ({ object }) => {
      const claim = object as PersistentVolumeClaim
      if (hasClass(claim)) return claim
      const name = chosen.value?.metadata?.name
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
  return spec?.storageClassName !== undefined || metadata?.annotations?.[classAnnotation] !== undefined
}
