import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  CSIDriver,
  CSIDriverSpec,
  CSINodeDriver,
  StorageClass,
  VolumeAttachment,
  VolumeAttachmentSource,
} from '../../generated/storage/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { csiDriverRules } from './csi-driver.ts'
import { storageRules } from './group.ts'

const classes = underTest(storageRules['StorageClass'])

const storageClass = (change: Partial<StorageClass>) => ({ provisioner: 'a.example/b', ...change })
const term = (key: string, ...values: string[]) => ({ matchLabelExpressions: [{ key, values }] })

test('a StorageClass defaults to Delete and Immediate', () => {
  assert.deepEqual(
    classes.withDefaults(storageClass({})),
    storageClass({
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
    }),
  )
})

test('validation of StorageClass', () => {
  const { check } = classes
  check(storageClass({ parameters: { a: 'b' }, reclaimPolicy: 'Retain' }))
  check(storageClass({ volumeBindingMode: 'WaitForFirstConsumer' }))
  check({}, 'provisioner: Required value')
  check(storageClass({ provisioner: 'a b' }), 'provisioner: Invalid value: "a b"')
  check(storageClass({ provisioner: 'A.example/B' }))
  check(storageClass({ parameters: { '': 'b' } }), 'parameters: Invalid value: "": field can not be empty.')
  check(
    storageClass({ parameters: { a: 'x'.repeat(256 * 1024) } }),
    'parameters: Too long: may not be more than 262144',
  )
  const many = Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`p${index}`, '']))
  check(storageClass({ parameters: many }), 'parameters: Too long: may not be more than 512 bytes')
  check(
    storageClass({ reclaimPolicy: 'Recycle' }),
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Del',
  )
  check(storageClass({ volumeBindingMode: 'Any' }), 'volumeBindingMode: Unsupported value: "Any"')
})

test('validation of StorageClass allowedTopologies', () => {
  const { check } = classes
  const field = 'allowedTopologies[0].matchLabelExpressions[0]'
  check(storageClass({ allowedTopologies: [term('a', 'b', 'c'), term('a', 'b')] }))
  check(storageClass({ allowedTopologies: [term('a')] }), `${field}.values: Required value`)
  check(
    storageClass({ allowedTopologies: [term('a', 'b', 'b')] }),
    `${field}.values[1]: Duplicate value: "b"`,
  )
  check(storageClass({ allowedTopologies: [term('a b', 'c')] }), `${field}.key: Invalid value: "a b"`)
  check(
    storageClass({ allowedTopologies: [term('a', 'b', 'c'), term('a', 'c', 'b')] }),
    'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
  )
  const repeated = (index: number) => `allowedTopologies[${index}].matchLabelExpressions: Duplicate value: ""`
  check(storageClass({ allowedTopologies: [{}] }), repeated(0))
  check(
    storageClass({ allowedTopologies: [{ matchLabelExpressions: [] }, {}] }),
    ...[0, 0, 1, 1, 1].map(repeated),
  )
  const terms = ['b', 'c', 'b', 'b'].map(value => term('a', value))
  check(storageClass({ allowedTopologies: terms }), ...[2, 3, 3].map(repeated))
})

test('immutable fields of StorageClass', () => {
  const { checkUpdate } = classes
  checkUpdate(storageClass({ allowVolumeExpansion: true, mountOptions: ['ro'] }), storageClass({}))
  const changed = storageClass({ parameters: { a: 'b' }, provisioner: 'c', reclaimPolicy: 'Retain' })
  checkUpdate(
    changed,
    storageClass({}),
    'parameters: Invalid value: {"a":"b"}: field is immutable',
    'provisioner: Invalid value: "c": field is immutable',
    'reclaimPolicy: Invalid value: "Retain": field is immutable',
  )
  checkUpdate(
    storageClass({ volumeBindingMode: 'WaitForFirstConsumer' }),
    storageClass({}),
    'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
  )
})

test('validation of VolumeAttributesClass', () => {
  const { check, checkUpdate } = underTest(storageRules['VolumeAttributesClass'])
  const attributes = (parameters: object, driverName = 'a.example') => ({ driverName, parameters })
  check(attributes({ a: 'b' }))
  check(
    { driverName: '' },
    'driverName: Required value',
    'parameters: Required value: must contain at least one key',
  )
  checkUpdate(
    attributes({ a: 'c' }, 'b.example'),
    attributes({ a: 'b' }),
    'driverName: Forbidden: updates to driverName are forbidden.',
    'parameters: Forbidden: updates to parameters are forbidden.',
  )
})

test('validation of VolumeAttachment', () => {
  const { check, checkUpdate, checkStatus } = underTest(storageRules['VolumeAttachment'])
  const attachment = (source: VolumeAttachmentSource, change?: Partial<VolumeAttachment>) => ({
    spec: { attacher: 'a.example', nodeName: 'n1', source },
    ...change,
  })
  const source = { persistentVolumeName: 'v1' }
  const inline = { csi: { driver: 'a.example', volumeHandle: '1' }, accessModes: ['ReadWriteOnce'] }
  const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  check(attachment(source))
  check(attachment({ inlineVolumeSpec: inline }))
  check(attachment({}), `spec.source: Required value: ${exactlyOne}`)
  check(attachment({ ...source, inlineVolumeSpec: inline }), `spec.source: Forbidden: ${exactlyOne}`)
  const wrong = { hostPath: { path: '/' }, capacity: { storage: '1' }, storageClassName: 'a' }
  check(
    attachment({ inlineVolumeSpec: wrong }),
    'spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes',
    'spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes',
    'spec.source.inlineVolumeSpec.accessModes: Required value',
    'spec.source.inlineVolumeSpec.storageClassName: Forbidden',
  )
  check(
    {},
    'spec.attacher: Required value',
    'spec.source: Required value',
    'spec.nodeName: Invalid value: ""',
  )
  checkUpdate(
    attachment({ persistentVolumeName: 'v2' }),
    attachment(source),
    'spec: Invalid value: {"attacher":"a.ex',
  )
  const status = (message: string) => ({
    status: { attached: false, attachError: { message, errorCode: -1 } },
  })
  checkStatus(
    attachment(source, status('x'.repeat(1_025))),
    attachment(source),
    'status.attachError.message: Too long',
    'status.attachError.errorCode: Invalid value: -1: must be between 0 and',
  )
})

const driver = (spec: CSIDriverSpec): CSIDriver => ({ metadata: { name: 'a.example' }, spec })

test('validation of CSIDriver', () => {
  const { check, checkUpdate, withDefaults } = underTest(storageRules['CSIDriver'])
  assert.deepEqual(
    withDefaults(driver({})),
    driver({
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      requiresRepublish: false,
      seLinuxMount: false,
      volumeLifecycleModes: ['Persistent'],
    }),
  )
  check(driver({ volumeLifecycleModes: ['Ephemeral'], tokenRequests: [{ audience: '' }, { audience: 'a' }] }))
  check(
    driver({ fsGroupPolicy: 'Any', volumeLifecycleModes: ['Any'] }),
    'spec.fsGroupPolicy: Unsupported value: "Any": supported values: "File", "None", "ReadWriteOnceWithFSTyp',
    'spec.volumeLifecycleModes: Unsupported value: "Any": supported values: "Persistent", "Ephemeral"',
  )
  check(
    driver({ tokenRequests: [{ audience: 'a', expirationSeconds: 599 }, { audience: 'a' }] }),
    'spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 mi',
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
  )
  check(
    driver({ tokenRequests: [{ audience: 'a', expirationSeconds: 2n ** 62n }] }),
    'spec.tokenRequests[0].expirationSeconds: Invalid value: 4611686018427387904: may not specify a duration',
  )
  check(
    driver({ nodeAllocatableUpdatePeriodSeconds: 9, serviceAccountTokenInSecrets: true }),
    'spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds',
    'spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no toke',
  )
  checkUpdate(
    driver({ attachRequired: false }),
    driver({}),
    'spec.attachedRequired: Invalid value: false: field is immutable',
  )
  const [warning] = csiDriverRules.warnings?.(driver({ tokenRequests: [{ audience: '' }] }), undefined) ?? []
  assert.match(warning ?? '', /^spec\.serviceAccountTokenInSecrets is unset; if supported/)
  const created = csiDriverRules.prepareForCreate?.(driver({ preventPodSchedulingIfMissing: true }))
  assert.deepEqual(created, driver({}))
})

test('validation of CSINode', () => {
  const { check, checkUpdate } = underTest(storageRules['CSINode'])
  const node = (...drivers: Partial<CSINodeDriver>[]) => ({
    spec: { drivers: drivers.map(given => ({ name: 'a.example', nodeID: 'n1', ...given })) },
  })
  check(node({ topologyKeys: ['a/b'], allocatable: { count: 0 } }, { name: 'b.example' }))
  check(
    node({ name: '', nodeID: '' }),
    'spec.drivers[0].name: Required value',
    'spec.drivers[0].nodeID: Required value',
  )
  check(
    node({ nodeID: 'x'.repeat(257) }),
    `spec.drivers[0].nodeID: Invalid value: "${'x'.repeat(257)}": must be 256 char`,
  )
  check(node({}, {}), 'spec.drivers[1].name: Duplicate value: "a.example"')
  check(
    node({ allocatable: { count: -1 } }),
    'spec.drivers[0].allocatable.count: Invalid value: -1: must be greater',
  )
  check(
    node({ topologyKeys: ['a', 'a', 'b c'] }),
    'spec.drivers[0]: Duplicate value: "a"',
    'spec.drivers[0]: Invalid value: "b c"',
  )
  checkUpdate(node({ allocatable: { count: 2 } }, { name: 'b.example' }), node({ allocatable: { count: 1 } }))
  checkUpdate(
    node({ nodeID: 'n2' }),
    node({}),
    'spec.drivers: Invalid value: {"name":"a.example","nodeID":"n2"}',
  )
})

test('validation of CSIStorageCapacity', () => {
  const { check, checkUpdate } = underTest(storageRules['CSIStorageCapacity'])
  const capacity = (change: object) => ({
    storageClassName: 'a',
    capacity: '1Gi',
    nodeTopology: {},
    ...change,
  })
  check(capacity({}))
  check(
    capacity({ storageClassName: '', capacity: '-1' }),
    'storageClassName: Invalid value: ""',
    'capacity: Invalid value: "-1": must be greater than or equal to 0',
  )
  check(
    capacity({ nodeTopology: { matchLabels: { 'a b': '' } } }),
    'nodeTopology.matchLabels: Invalid value: "a b"',
  )
  checkUpdate(capacity({ capacity: '2Gi' }), capacity({}))
  checkUpdate(
    capacity({ storageClassName: 'b', nodeTopology: { matchLabels: { a: 'b' } } }),
    capacity({}),
    'nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable',
    'storageClassName: Invalid value: "b": field is immutable',
  )
})
