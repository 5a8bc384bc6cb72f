import { test } from 'node:test'
import { columnsUnderTest } from '../testdata/check-columns.ts'

const group = 'storage.k8s.io'

test('the StorageClass table shows defaults and the default class', () => {
  const { row, check } = columnsUnderTest(group, 'StorageClass')
  row({ provisioner: 'x/y' }, 'a', 'x/y', 'Delete', 'Immediate', false, '5m')
  row(
    {
      provisioner: 'x/y',
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    },
    'a',
    'x/y',
    'Retain',
    'WaitForFirstConsumer',
    true,
    '5m',
  )
  const named = (key: string, value: string): object => ({ metadata: { annotations: { [key]: value } } })
  check(named('storageclass.kubernetes.io/is-default-class', 'true'), { Name: 'a (default)' })
  check(named('storageclass.beta.kubernetes.io/is-default-class', 'true'), { Name: 'a (default)' })
  check(named('storageclass.kubernetes.io/is-default-class', 'True'), { Name: 'a' })
})

test('the CSIDriver table shows its capabilities', () => {
  const { row } = columnsUnderTest(group, 'CSIDriver')
  row({}, 'a', true, false, false, '<unset>', false, '<none>', '5m')
  row(
    {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        storageCapacity: true,
        tokenRequests: [{ audience: 'x' }, { audience: 'y' }],
        requiresRepublish: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
    'a',
    false,
    true,
    true,
    'x,y',
    true,
    'Persistent,Ephemeral',
    '5m',
  )
})

test('tables of VolumeAttachment, CSINode and CSIStorageCapacity', () => {
  columnsUnderTest(group, 'CSINode').row({ spec: { drivers: [{}, {}] } }, 'a', 2, '5m')
  columnsUnderTest(group, 'CSIStorageCapacity').row({ capacity: '1Gi' }, 'a', '2026-05-04T11:55:00Z')
  const attachments = columnsUnderTest(group, 'VolumeAttachment')
  attachments.row({}, 'a', '', '', '', false, '5m')
  attachments.row(
    {
      spec: { attacher: 'x', source: { persistentVolumeName: 'v' }, nodeName: 'n' },
      status: { attached: true },
    },
    'a',
    'x',
    'v',
    'n',
    true,
    '5m',
  )
  columnsUnderTest(group, 'VolumeAttributesClass').row({ driverName: 'x' }, 'a', 'x', '5m')
})
