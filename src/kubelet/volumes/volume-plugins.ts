/** Volume types by their field name in pods and persistent volumes. */
import type { PersistentVolume, Volume } from '#/api/generated/core/v1.ts'
import { configMap } from './config-map.ts'
import { downwardApi } from './downward-api.ts'
import { emptyDir } from './empty-dir.ts'
import { hostPath } from './host-path.ts'
import { local } from './local.ts'
import { projected } from './projected.ts'
import { secret } from './secret.ts'
import { VolumeStepError, type VolumePlugin } from './volume-plugin.ts'

type Plugins = Readonly<Record<string, VolumePlugin>>

const image: VolumePlugin = {
  setUp: ({ volume }) => {
    const { image: imageSource = {} } = volume
    return Promise.resolve({ name: volume.name, hostPath: '', readonly: true, imageSource })
  },
}

const csi: VolumePlugin = {
  setUp: ({ volume, persistentVolume }) => {
    const driver = (persistentVolume?.spec?.csi ?? volume.csi)?.driver ?? ''
    return Promise.reject(
      new Error(
        'kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: ' +
          `driver name ${driver} not found in the list of registered CSI drivers`,
      ),
    )
  },
}

const ofPods: Plugins = {
  configMap,
  csi,
  downwardAPI: downwardApi,
  emptyDir,
  hostPath,
  image,
  projected,
  secret,
}
const ofPersistentVolumes: Plugins = { csi, hostPath, local }

const names: ReadonlyMap<VolumePlugin, string> = new Map([
  [configMap, 'kubernetes.io/configmap'],
  [csi, 'kubernetes.io/csi'],
  [downwardApi, 'kubernetes.io/downward-api'],
  [emptyDir, 'kubernetes.io/empty-dir'],
  [hostPath, 'kubernetes.io/host-path'],
  [image, 'kubernetes.io/image'],
  [local, 'kubernetes.io/local-volume'],
  [projected, 'kubernetes.io/projected'],
  [secret, 'kubernetes.io/secret'],
])

/** The name in metrics. */
export function pluginName(plugin: VolumePlugin | undefined): string {
  return (plugin && names.get(plugin)) ?? 'N/A'
}

/** A volume without a source is an emptyDir. */
export function pluginOfVolume(volume: Volume): VolumePlugin {
  const field = Object.keys(volume).find(key => key !== 'name')
  return field === undefined ? emptyDir : (ofPods[field] ?? unsupported(field))
}

export function pluginOfPersistentVolume({ spec = {} }: PersistentVolume): VolumePlugin {
  const field = Object.keys(spec).find(key => !describing.includes(key)) ?? 'unknown'
  const plugin = ofPersistentVolumes[field] ?? unsupported(field)
  return spec.volumeMode === 'Block' && plugin !== local ? noDevices : plugin
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

function unsupported(field: string): VolumePlugin {
  const text =
    field === 'gitRepo'
      ? 'git-repo volume plugin has been disabled'
      : `volumes of type ${field} are not supported by this node`
  return { setUp: () => Promise.reject(new Error(text)) }
}

const noDevices: VolumePlugin = {
  setUp: () =>
    Promise.reject(
      new VolumeStepError(
        'MapVolume.FindMapperPluginBySpec failed',
        'only local volumes can be used as devices on this node',
      ),
    ),
}
