import type { Container, Pod, Volume } from '#/api/generated/core/v1.ts'

export function secretNamesOf({ spec }: Pod): ReadonlySet<string> {
  const containers: readonly Container[] = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ]
  const names = [
    ...(spec?.imagePullSecrets ?? []).map(({ name }) => name),
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
      ...envFrom.map(({ secretRef }) => secretRef?.name),
    ]),
    ...(spec?.volumes ?? []).flatMap(ofVolume),
  ]
  return new Set(names.flatMap(name => (name ? [name] : [])))
}

function ofVolume(volume: Volume): readonly (string | undefined)[] {
  return [
    volume.secret?.secretName,
    volume.azureFile?.secretName,
    ...(volume.projected?.sources ?? []).map(({ secret }) => secret?.name),
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.csi?.nodePublishSecretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef.name,
    volume.storageos?.secretRef?.name,
  ]
}
