import { storageClassOf } from '#/api/core/storage-classes.ts'
import type {
  NodeSelectorRequirement,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSpec,
  Pod,
} from '#/api/generated/core/v1.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { accessModesText, describeClaim, finalizersText, phaseText } from '../sections/claim.ts'
import { byText } from '../sections/containers.ts'
import { listPods } from '../sections/controlled-pods.ts'
import { describeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels } from '../sections/metadata.ts'
import { localTime } from '../sections/times.ts'
import { csiAttributeLines, sharedSource, type SourceRow } from '../sections/volume-sources.ts'

export const describePersistentVolumeClaim: Describer<PersistentVolumeClaim> = async (claim, context) => {
  const { writer } = context
  const conditions = claim.status?.conditions ?? []
  describeClaim(writer, claim, context)
  const users = byText(await podsUsing(claim, context), ({ metadata }) => metadata.name ?? '')
  writer.list(
    0,
    'Used By',
    users.map(({ metadata }) => metadata.name ?? ''),
  )
  if (conditions.length > 0) {
    writer.write(0, 'Conditions:\n')
    writer.rows(1, [
      ['Type', 'Status', 'LastProbeTime', 'LastTransitionTime', 'Reason', 'Message'],
      ['----', '------', '-----------------', '------------------', '------', '-------'],
      ...conditions.map(({ type, status, lastProbeTime, lastTransitionTime, reason = '', message = '' }) => [
        `${type} `,
        `${status} `,
        `${localTime(lastProbeTime, context)} `,
        `${localTime(lastTransitionTime, context)} `,
        `${reason} `,
        message,
      ]),
    ])
  }
  await describeEvents(claim, context)
}

/** The pods that have it as a volume, and the pods that own it as the claims of ephemeral volumes are owned. */
async function podsUsing({ metadata }: PersistentVolumeClaim, context: DescribeContext): Promise<Pod[]> {
  const pods = await listPods(context, { namespace: metadata.namespace })
  const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Pod').map(({ uid }) => uid)
  return pods.flatMap(pod => {
    const uses = (pod.spec?.volumes ?? []).filter(({ persistentVolumeClaim }) => {
      return persistentVolumeClaim?.claimName === metadata.name
    })
    const isOwner = uses.length === 0 && owners.includes(pod.metadata.uid ?? '')
    return isOwner ? [pod] : uses.map(() => pod)
  })
}

export const describePersistentVolume: Describer<PersistentVolume> = async (volume, context) => {
  const { writer } = context
  const { metadata, spec = {}, status = {} } = volume
  const { claimRef, csi } = spec
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, volume)
  describeAnnotations(writer, volume)
  writer.fields(0, [
    ['Finalizers', finalizersText(volume)],
    ['StorageClass', storageClassOf(volume)],
    ['Status', phaseText(volume, context)],
    ['Claim', claimRef ? `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}` : ''],
    ['Reclaim Policy', spec.persistentVolumeReclaimPolicy ?? ''],
    ['Access Modes', accessModesText(spec.accessModes)],
    ['VolumeMode', spec.volumeMode],
    ['Capacity', spec.capacity?.['storage'] ?? '0'],
  ])
  describeNodeAffinity(writer, spec)
  writer.fields(0, [['Message', status.message ?? '']])
  writer.write(0, 'Source:\n')
  const source = volumeSource(spec) ?? sharedSource(spec, 'SecretReference')
  if (source) writer.rows(2, source)
  else writer.write(1, '<unknown>\n')
  if (csi) writer.list(2, 'VolumeAttributes', csiAttributeLines(csi.volumeAttributes))
  await describeEvents(volume, context)
}

function describeNodeAffinity(writer: DescribeWriter, { nodeAffinity }: PersistentVolumeSpec): void {
  const { required } = nodeAffinity ?? {}
  if (!required) return writer.fields(0, [['Node Affinity', '<none>']])
  writer.fields(0, [['Node Affinity', '']])
  const terms = required.nodeSelectorTerms
  writer.fields(1, [['Required Terms', terms.length === 0 ? '<none>' : '']])
  for (const [index, { matchExpressions = [] }] of terms.entries()) {
    writer.list(2, `Term ${index}`, matchExpressions.map(requirementText))
  }
}

function requirementText({ key, operator, values = [] }: NodeSelectorRequirement): string {
  return `${key} ${operator.toLowerCase()}${values.length > 0 ? ` [${values.join(', ')}]` : ''}`
}

/** The sources that only persistent volumes have, or that have more fields there. */
function volumeSource(spec: PersistentVolumeSpec): readonly SourceRow[] | undefined {
  const { azureFile, csi, glusterfs, local, scaleIO } = spec
  if (local) {
    return [
      ['Type:', 'LocalVolume (a persistent volume backed by local storage on a node)'],
      ['Path:', local.path],
    ]
  }
  if (glusterfs) {
    return [
      ['Type:', "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)"],
      ['EndpointsName:', glusterfs.endpoints],
      ['EndpointsNamespace:', glusterfs.endpointsNamespace ?? '<unset>'],
      ['Path:', glusterfs.path],
      ['ReadOnly:', glusterfs.readOnly ?? false],
    ]
  }
  if (scaleIO) {
    return [
      ['Type:', 'ScaleIO (a persistent volume backed by a block device in ScaleIO)'],
      ['Gateway:', scaleIO.gateway],
      ['System:', scaleIO.system],
      ['Protection Domain:', scaleIO.protectionDomain ?? ''],
      ['Storage Pool:', scaleIO.storagePool ?? ''],
      ['Storage Mode:', scaleIO.storageMode ?? ''],
      ['VolumeName:', scaleIO.volumeName ?? ''],
      ['SecretName:', scaleIO.secretRef?.name ?? ''],
      ['SecretNamespace:', scaleIO.secretRef?.namespace ?? ''],
      ['FSType:', scaleIO.fsType ?? ''],
      ['ReadOnly:', scaleIO.readOnly ?? false],
    ]
  }
  if (azureFile) {
    return [
      ['Type:', 'AzureFile (an Azure File Service mount on the host and bind mount to the pod)'],
      ['SecretName:', azureFile.secretName],
      ['SecretNamespace:', azureFile.secretNamespace ?? ''],
      ['ShareName:', azureFile.shareName],
      ['ReadOnly:', azureFile.readOnly ?? false],
    ]
  }
  if (csi) {
    return [
      ['Type:', 'CSI (a Container Storage Interface (CSI) volume source)'],
      ['Driver:', csi.driver],
      ['FSType:', csi.fsType ?? ''],
      ['VolumeHandle:', csi.volumeHandle],
      ['ReadOnly:', csi.readOnly ?? false],
    ]
  }
  return undefined
}
