/** Volume types by their field name in pods and persistent volumes. */
import type { PersistentVolume, Volume } from '#/api/generated/core/v1.ts'
import { configMap } from './config-map.ts'
import { downwardApi } from './downward-api.ts'
import { emptyDir } from './empty-dir.ts'
import { hostPath } from './host-path.ts'
import { local } from './local.ts'
import { projected } from './projected.ts'
import { secret } from './secret.ts'
import { VolumeStepError, type VolumeKind } from './volume-kind.ts'

type Kinds = Readonly<Record<string, VolumeKind>>

const image: VolumeKind = {
  prepare: ({ volume }) => {
    const { image: imageSource = {} } = volume
    return Promise.resolve({ name: volume.name, hostPath: '', readonly: true, imageSource })
  },
}

const csi: VolumeKind = {
  prepare: ({ volume, persistentVolume }) => {
    const driver = (persistentVolume?.spec?.csi ?? volume.csi)?.driver ?? ''
    return Promise.reject(
      new Error(
        'kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: ' +
          `driver name ${driver} not found in the list of registered CSI drivers`,
      ),
    )
  },
}

const ofPods: Kinds = {
  configMap,
  csi,
  downwardAPI: downwardApi,
  emptyDir,
  hostPath,
  image,
  projected,
  secret,
}
const ofPersistentVolumes: Kinds = { csi, hostPath, local }

/** A volume without a source is an emptyDir. */
export function kindOfVolume(volume: Volume): VolumeKind {
  const field = Object.keys(volume).find(key => key !== 'name')
  return field === undefined ? emptyDir : (ofPods[field] ?? unsupported(field))
}

export function kindOfPersistentVolume({ spec = {} }: PersistentVolume): VolumeKind {
  const field = Object.keys(spec).find(key => !describing.includes(key)) ?? 'unknown'
  const kind = ofPersistentVolumes[field] ?? unsupported(field)
  return spec.volumeMode === 'Block' && kind !== local ? noDevices : kind
}

/** Fields of a persistent volume that are not volume sources. */
const describing: readonly string[] = [
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
] satisfies readonly (keyof NonNullable<PersistentVolume['spec']>)[]

function unsupported(field: string): VolumeKind {
  const text =
    field === 'gitRepo'
      ? 'git-repo volume plugin has been disabled'
      : `volumes of type ${field} are not supported by this node`
  return { prepare: () => Promise.reject(new Error(text)) }
}

const noDevices: VolumeKind = {
  prepare: () =>
    Promise.reject(
      new VolumeStepError(
        'MapVolume.FindMapperPluginBySpec failed',
        'only local volumes can be used as devices on this node',
      ),
    ),
}
