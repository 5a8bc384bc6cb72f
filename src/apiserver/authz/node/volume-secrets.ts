/** Secrets a node needs to mount a PersistentVolume, without those that only the controller needs. */
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import { referenceKey, type ReferenceKey } from './pod-references.ts'

interface Reference {
  readonly name?: string
  readonly namespace?: string
}

export function volumeSecrets({ spec }: PersistentVolume): readonly ReferenceKey[] {
  if (!spec?.claimRef) return []
  const { azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd, scaleIO, storageos } = spec
  // Secret references without a namespace refer to the namespace of the claim.
  const claimNamespace = spec.claimRef.namespace ?? ''
  const references: readonly (Reference | undefined)[] = [
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace || claimNamespace },
    ...[cephfs, flexVolume, iscsi, rbd, scaleIO].map(source =>
      withNamespace(source?.secretRef, claimNamespace),
    ),
    cinder?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ]
  return references.flatMap(each =>
    each?.name ? [referenceKey('secrets', each.namespace ?? '', each.name)] : [],
  )
}

function withNamespace(reference: Reference | undefined, namespace: string): Reference | undefined {
  return reference && { ...reference, namespace: reference.namespace || namespace }
}
