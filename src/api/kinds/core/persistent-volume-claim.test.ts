import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimStatus,
} from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { persistentVolumeClaimRules } from './persistent-volume-claim.ts'
import { coreRules } from './group.ts'

const { check, checkUpdate, checkStatus, withDefaults } = underTest(coreRules['PersistentVolumeClaim'])

const sized = (storage: string) => ({ resources: { requests: { storage } } })

function claim(spec: PersistentVolumeClaimSpec, status?: PersistentVolumeClaimStatus): PersistentVolumeClaim {
  const given = { accessModes: ['ReadWriteOnce'], ...sized('1Gi'), ...spec }
  return { metadata: { name: 'c1' }, spec: given, status }
}

const bound: PersistentVolumeClaimStatus = { phase: 'Bound', capacity: { storage: '1Gi' } }

test('defaults of PersistentVolumeClaim', () => {
  const volumeMode = 'Filesystem'
  assert.deepEqual(withDefaults(claim({})), claim({ volumeMode }, { phase: 'Pending' }))
  assert.deepEqual(withDefaults(claim(sized('1100u'), bound)), claim({ ...sized('2m'), volumeMode }, bound))
})

test('validation of PersistentVolumeClaim spec', () => {
  check(claim({}))
  check(claim({ accessModes: [] }), 'spec.accessModes: Required value: at least 1 access mode is required')
  check(
    claim({ accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] }),
    'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
  )
  check(claim({ resources: {} }), 'spec.resources[storage]: Required value')
  check(claim(sized('0')), 'spec.resources[storage]: Invalid value: "0": must be greater than zero')
  check(claim({ storageClassName: '' }))
  check(claim({ storageClassName: 'A' }), 'spec.storageClassName: Invalid value: "A"')
  check(
    claim({ volumeMode: 'Any' }),
    'spec.volumeMode: Unsupported value: "Any": supported values: "Block", "Filesystem"',
  )
  check(
    claim({ selector: { matchLabels: { 'a b': 'c' } } }),
    'spec.selector.matchLabels: Invalid value: "a b"',
  )
})

const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' }
const foreign = { apiGroup: 'example.com', kind: 'Thing', name: 't' }

test('dataSource and dataSourceRef default to each other', () => {
  const created = (spec: PersistentVolumeClaimSpec) => {
    const prepared = (persistentVolumeClaimRules.prepareForCreate?.(claim(spec)) ??
      {}) as PersistentVolumeClaim
    return [prepared.spec?.dataSource, prepared.spec?.dataSourceRef]
  }
  assert.deepEqual(created({ dataSource: snapshot }), [snapshot, snapshot])
  assert.deepEqual(created({ dataSourceRef: foreign }), [foreign, foreign])
  assert.deepEqual(created({ dataSource: foreign }), [undefined, undefined])
  assert.deepEqual(created({ dataSourceRef: { ...snapshot, namespace: 'other' } }), [undefined, undefined])
  assert.deepEqual(created({ dataSource: { kind: 'Thing', name: 'a' } }), [undefined, undefined])
})

test('validation of PersistentVolumeClaim data sources', () => {
  check(claim({ dataSource: { kind: 'PersistentVolumeClaim', name: 'a' } }))
  check(
    claim({ dataSourceRef: { kind: 'Thing', name: '' } }),
    'spec.dataSource.name: Required value',
    'spec.dataSource: Invalid value: "Thing": must be \'PersistentVolumeClaim\' when referencing the default',
    'spec.dataSourceRef.name: Required value',
    'spec.dataSourceRef: Invalid value: "Thing": must be \'PersistentVolumeClaim\' when referencing the defa',
  )
  check(
    claim({ dataSource: snapshot, dataSourceRef: foreign }),
    'spec: Invalid value: "spec.dataSource": must match dataSourceRef',
  )
})

test('immutable fields of PersistentVolumeClaim', () => {
  const immutable = 'spec: Forbidden: spec is immutable after creation except resources.requests and'
  checkUpdate(claim({ volumeName: 'v' }), claim({}))
  checkUpdate(claim({ volumeName: 'w' }), claim({ volumeName: 'v' }), immutable)
  checkUpdate(claim({ storageClassName: 'a' }), claim({}))
  checkUpdate(claim({ storageClassName: 'b' }), claim({ storageClassName: 'a' }), immutable)
  checkUpdate(claim({ storageClassName: '' }), claim({ storageClassName: 'a' }), immutable)
  checkUpdate(claim({ accessModes: ['ReadOnlyMany'] }), claim({}), immutable)
  checkUpdate(claim(sized('2Gi')), claim({}), immutable)
  checkUpdate(claim({ dataSource: snapshot }), claim({ dataSource: snapshot }))
  checkUpdate(
    claim({ volumeMode: 'Block' }),
    claim({}),
    immutable,
    'volumeMode: Invalid value: "Block": field is immutable',
  )
})

test('a bound claim may be expanded, and an unfulfilled request reduced', () => {
  const small = 'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity'
  checkUpdate(claim(sized('2Gi'), bound), claim({}, bound))
  checkUpdate(claim(sized('2Gi'), bound), claim(sized('3Gi'), bound))
  checkUpdate(claim(sized('1Gi'), bound), claim(sized('3Gi'), bound), small)
  checkUpdate(claim(sized('512Mi'), bound), claim({}, bound), small)
})

test('VolumeAttributesClass of a bound claim', () => {
  const current = { ...bound, currentVolumeAttributesClassName: 'a' }
  const of = (volumeAttributesClassName: string, status?: PersistentVolumeClaimStatus) => {
    return claim({ volumeAttributesClassName }, status)
  }
  checkUpdate(of('b', bound), of('a', bound))
  checkUpdate(of('b'), of('a'), 'spec: Forbidden')
  checkUpdate(
    claim({}, current),
    of('a', current),
    'spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when',
  )
  checkUpdate(
    of('', current),
    of('a', current),
    'spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when',
  )
})

test('the storage class may move from the annotation to the field', () => {
  const annotation = 'volume.beta.kubernetes.io/storage-class'
  const annotated = (name: string, spec: PersistentVolumeClaimSpec = {}) => {
    return { ...claim(spec), metadata: { name: 'c1', annotations: { [annotation]: name } } }
  }
  checkUpdate(claim({ storageClassName: 'a' }), annotated('a'))
  checkUpdate(annotated('a', { storageClassName: 'a' }), annotated('a'))
  checkUpdate(
    annotated('b'),
    annotated('a'),
    `metadata.annotations.${annotation}: Invalid value: "b": field is immutable`,
  )
  checkUpdate(annotated('a', { storageClassName: 'b' }), annotated('a'), 'spec: Forbidden')
})

test('validation of PersistentVolumeClaim status', () => {
  const old = claim({}, bound)
  checkStatus(claim({}, { ...bound, allocatedResources: { 'storage': '2Gi', 'a.b/c': '1' } }), old)
  checkStatus(
    claim({}, { capacity: { storage: '-1' } }),
    old,
    'status.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
  )
  const odd = { allocatedResources: { cpu: '1' }, allocatedResourceStatuses: { storage: 'Any' } }
  checkStatus(
    claim({}, odd),
    old,
    'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInPr',
    'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
  )
})

test('fractional byte values return warnings', () => {
  assert.deepEqual(persistentVolumeClaimRules.warnings?.(claim(sized('100m')), undefined), [
    'spec.resources.requests[storage]: fractional byte value "100m" is invalid, must be an integer',
  ])
})
