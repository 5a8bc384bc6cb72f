import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PersistentVolume, PersistentVolumeSpec } from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { persistentVolumeRules } from './persistent-volume.ts'
import { coreRules } from './group.ts'

const { check, checkUpdate, withDefaults } = underTest(coreRules['PersistentVolume'])

function volume(spec: PersistentVolumeSpec, annotations?: Record<string, string>): PersistentVolume {
  const given = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...spec }
  return { metadata: { name: 'v1', annotations }, spec: given }
}

const hostPath = { path: '/data' }
const csi = { driver: 'a.example', volumeHandle: '1' }
const zone = (key: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['z1'] }] }] },
})

test('defaults of PersistentVolume', () => {
  const filled = (spec: PersistentVolumeSpec) => withDefaults(volume(spec)) as PersistentVolume
  assert.deepEqual(filled({ hostPath }), {
    ...volume({
      hostPath: { ...hostPath, type: '' },
      persistentVolumeReclaimPolicy: 'Retain',
      volumeMode: 'Filesystem',
    }),
    status: { phase: 'Pending' },
  })
  assert.deepEqual(filled({ rbd: { image: 'a', monitors: ['b'] } }).spec?.rbd, {
    image: 'a',
    monitors: ['b'],
    pool: 'rbd',
    user: 'admin',
    keyring: '/etc/ceph/keyring',
  })
  const iscsi = { iqn: 'a', lun: 0, targetPortal: 'b' }
  assert.deepEqual(filled({ iscsi }).spec?.iscsi, { ...iscsi, iscsiInterface: 'default' })
  assert.equal(filled({ azureDisk: { diskName: 'a', diskURI: 'b' } }).spec?.azureDisk?.kind, 'Shared')
  const created = persistentVolumeRules.prepareForCreate?.(volume({ hostPath }))
  assert.deepEqual(created, { ...volume({ hostPath }), status: { phase: 'Pending' } })
})

test('a PersistentVolume requires exactly one source', () => {
  check(volume({ hostPath }))
  check(volume({}), 'spec: Required value: must specify a volume type')
  check(
    volume({ hostPath, nfs: { server: '', path: '' } }),
    'spec.nfs: Forbidden: may not specify more than 1 volume type',
  )
  check(
    volume({ hostPath, cephfs: { monitors: [] } }),
    'spec.cephFS: Forbidden: may not specify more than 1 volume type',
  )
})

test('validation of access modes and capacity', () => {
  check(volume({ hostPath, accessModes: [] }), 'spec.accessModes: Required value')
  check(
    volume({ hostPath, accessModes: ['Any'] }),
    'spec.accessModes: Unsupported value: "Any": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWri',
  )
  check(
    volume({ hostPath, accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }),
    'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
  )
  check(
    volume({ hostPath, capacity: {} }),
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value: {}: supported values: "storage"',
  )
  check(
    volume({ hostPath, capacity: { storage: '1Gi', cpu: '1' } }),
    'spec.capacity: Unsupported value: {"storage":"1Gi","cpu":"1"}: supported values: "storage"',
  )
  check(
    volume({ hostPath, capacity: { storage: '0' } }),
    'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
  )
  check(
    volume({ hostPath, capacity: { storage: '-1' } }),
    'spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
    'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
  )
})

test('validation of reclaim policy, volume mode and storage class', () => {
  check(
    volume({ hostPath, persistentVolumeReclaimPolicy: 'Any' }),
    'spec.persistentVolumeReclaimPolicy: Unsupported value: "Any": supported values: "Delete", "Recycle", "R',
  )
  check(
    volume({ hostPath: { path: '/a/..' }, persistentVolumeReclaimPolicy: 'Recycle' }),
    'spec.hostPath.path: Invalid value: "/a/..": must not contain \'..\'',
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  )
  check(volume({ hostPath, volumeMode: 'Any' }), 'spec.volumeMode: Unsupported value: "Any"')
  check(volume({ hostPath, storageClassName: 'A' }), 'spec.storageClassName: Invalid value: "A"')
  check(
    volume({ hostPath, volumeAttributesClassName: 'a' }),
    'spec.csi: Required value: has to be specified when using volumeAttributesClassName',
  )
  check(
    volume({ csi, volumeAttributesClassName: '' }),
    'spec.volumeAttributesClassName: Required value: an empty string is disallowed',
  )
})

test('validation of PersistentVolume node affinity', () => {
  check(volume({ local: { path: '/a' }, nodeAffinity: zone('topology.kubernetes.io/zone') }))
  check(
    volume({ local: { path: '/a' } }),
    'spec.nodeAffinity: Required value: Local volume requires node affinity',
  )
  check(
    volume({ hostPath, nodeAffinity: {} }),
    'spec.nodeAffinity.required: Required value: must specify required node constraints',
  )
  check(
    volume({ hostPath, nodeAffinity: { required: { nodeSelectorTerms: [] } } }),
    'spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term',
  )
})

test('validation of each PersistentVolume source', () => {
  check(
    volume({ csi: { driver: '', volumeHandle: '' } }),
    'spec.csi.driver: Required value',
    'spec.csi.volumeHandle: Req',
  )
  check(
    volume({ csi: { ...csi, driver: `A.${'x'.repeat(62)}` } }),
    'spec.csi.driver: Too long: may not be more than 63',
  )
  check(
    volume({ csi: { ...csi, nodeStageSecretRef: { name: '' }, nodePublishSecretRef: { name: 'a' } } }),
    'spec.csi.nodePublishSecretRef.namespace: Required value',
  )
  check(
    volume({ nfs: { server: 'a', path: 'b' } }),
    'spec.nfs.path: Invalid value: "b": must be an absolute path',
  )
  check(
    volume({ glusterfs: { endpoints: 'a', path: 'b', endpointsNamespace: '' } }),
    'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a val',
  )
  check(
    volume({ gcePersistentDisk: { pdName: '', partition: 256 } }),
    'spec.persistentDisk.pdName: Required value',
    'spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive',
  )
  check(
    volume({ azureFile: { secretName: '', shareName: 'a', secretNamespace: '' } }),
    'spec.azureFile.secretName: Required value',
    'spec.azureFile.secretNamespace: Required value',
  )
  check(
    volume({ cinder: { volumeID: 'a', secretRef: {} } }),
    'spec.cinder.secretRef.name: Required value',
    'spec.cinder.secretRef.namespace: Required value',
  )
  check(volume({ storageos: { volumeName: 'A' } }), 'spec.storageos.volumeName: Invalid value: "A"')
  check(
    volume({ scaleIO: { gateway: '', system: '', secretRef: {} } }),
    'spec.scaleIO.gateway: Required value',
    'spec.scaleIO.system: Required value',
    'spec.scaleIO.volumeName: Required value',
  )
  const iscsi = { iqn: 'iqn.2001-04.com.example:x', lun: 0, initiatorName: 'iqn.2001-04.com.example:y' }
  check(
    volume({ iscsi: { ...iscsi, targetPortal: 'a', secretRef: {} } }),
    'spec.iscsi.secretRef.name: Required value',
  )
  check(
    volume({ iscsi: { ...iscsi, targetPortal: 'x'.repeat(62) } }),
    'spec.iscsi.targetportal: Invalid value: "xxx',
  )
  check(
    { metadata: { name: 'v1' } },
    'spec.accessModes: Required value',
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value',
    'spec: Required value',
  )
})

test('the mount options annotation is allowed only for mountable volumes', () => {
  const annotation = 'volume.beta.kubernetes.io/mount-options'
  check(volume({ nfs: { server: 'a', path: '/b' } }, { [annotation]: 'ro' }))
  check(
    volume({ hostPath }, { [annotation]: 'ro' }),
    `metadata.annotations.${annotation}: Forbidden: may not specify mount options for this volume type`,
  )
})

test('immutable fields of PersistentVolume', () => {
  const old = volume({ csi })
  const claimed = { claimRef: { name: 'a' }, storageClassName: 'a' }
  checkUpdate(volume({ csi, capacity: { storage: '2Gi' }, ...claimed }), old)
  checkUpdate(
    volume({ csi: { ...csi, volumeHandle: '2' } }),
    old,
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
  )
  checkUpdate(volume({ hostPath }), old, 'spec.persistentvolumesource: Forbidden')
  const secret = { name: 'a', namespace: 'b' }
  checkUpdate(volume({ csi: { ...csi, controllerExpandSecretRef: secret } }), old)
  checkUpdate(
    volume({ csi: { ...csi, nodePublishSecretRef: secret } }),
    old,
    'spec.persistentvolumesource: Forbidden',
  )
  checkUpdate(
    volume({ csi, volumeMode: 'Block' }),
    old,
    'volumeMode: Invalid value: "Block": field is immutable',
  )
  checkUpdate(volume({ csi, volumeAttributesClassName: 'a' }), old)
  checkUpdate(
    old,
    volume({ csi, volumeAttributesClassName: 'a' }),
    'spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden',
  )
})

test('node affinity is immutable except for replaced label keys', () => {
  const old = volume({ csi, nodeAffinity: zone('failure-domain.beta.kubernetes.io/zone') })
  checkUpdate(old, volume({ csi }))
  checkUpdate(volume({ csi, nodeAffinity: zone('topology.kubernetes.io/zone') }), old)
  checkUpdate(
    volume({ csi, nodeAffinity: zone('a') }),
    old,
    'nodeAffinity: Invalid value: {"required":{"nodeSelector',
  )
  checkUpdate(
    volume({ csi }),
    old,
    'nodeAffinity: Invalid value: null: field is immutable, except for updating',
  )
})

test('lastPhaseTransitionTime changes with the phase', () => {
  const at = (phase: string, time?: string) => {
    return { ...volume({ csi }), status: { phase, ...(time && { lastPhaseTransitionTime: time }) } }
  }
  const prepare = persistentVolumeRules.prepareForStatusUpdate
  assert.deepEqual(prepare?.(at('Bound'), at('Bound', 't1'), 't2'), at('Bound', 't1'))
  assert.deepEqual(prepare?.(at('Failed'), at('Bound', 't1'), 't2'), at('Failed', 't2'))
})

test('warnings for PersistentVolume', () => {
  const warn = (given: PersistentVolume) => persistentVolumeRules.warnings?.(given, undefined)
  assert.deepEqual(warn(volume({ csi })), [])
  const nodeAffinity = zone('beta.kubernetes.io/os')
  assert.deepEqual(warn(volume({ rbd: { image: 'a', monitors: [] }, nodeAffinity })), [
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is ' +
      'deprecated since v1.14; use "kubernetes.io/os" instead',
    'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
  ])
})
