import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { boundVolume } from '#/api/core/persistent-volumes.ts'
import { boundClaim, boundStatus, unboundStatus, unboundVolume } from './bound.ts'
import { migratedDriverOf, isUnsupportedInTree, withMigrationAnnotations } from './csi-migration.ts'
import { planVolume } from './plan-volume.ts'
import { stored } from '../test-stored.ts'

interface VolumeText {
  /** `uid` of the referenced claim; '' reserves the volume by name only. */
  readonly claim?: string
  readonly policy?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly isGoing?: boolean
}

function volumeOf({
  claim,
  policy = 'Retain',
  annotations,
  finalizers,
  isGoing,
}: VolumeText): Stored<PersistentVolume> {
  return stored({
    metadata: {
      name: 'v',
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ...(isGoing && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: {
      persistentVolumeReclaimPolicy: policy,
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '2Gi' },
      ...(claim !== undefined && { claimRef: { namespace: 'n', name: 'c', ...(claim && { uid: claim }) } }),
    },
    status: { phase: 'Bound' },
  })
}

const claim = stored({ metadata: { namespace: 'n', name: 'c', uid: 'u', resourceVersion: '7' } })
const made = { 'pv.kubernetes.io/provisioned-by': 'p' }
const chosen = { 'pv.kubernetes.io/bound-by-controller': 'yes' }

/** Checks the plan in words. `volumeName` is the claim's; undefined if the claim is gone. */
function check(text: VolumeText, volumeName: string | undefined, expected: string): void {
  const found = volumeName === undefined ? undefined : { ...claim, spec: { volumeName } }
  const plan = planVolume(volumeOf(text), found)
  const shown = [plan.do, 'phase' in plan ? plan.phase : '', 'policy' in plan ? plan.policy : '']
  assert.equal(shown.filter(word => word !== '').join(' '), expected)
}

test('planVolume: phases and reclaim policies', () => {
  check({}, undefined, 'phase Available')
  check({ claim: '' }, undefined, 'phase Available')
  check({ claim: 'u' }, 'v', 'phase Bound')
  check({ claim: 'u' }, '', 'wake')
  check({ claim: 'u' }, undefined, 'reclaim Retain')
  check({ claim: 'u', policy: 'Delete' }, undefined, 'reclaim Delete')
  check({ claim: 'u', policy: 'Recycle' }, undefined, 'reclaim Recycle')
  check({ claim: 'u', policy: 'Burn' }, undefined, 'reclaim Unknown')
  check({ claim: 'u', policy: 'Delete' }, 'other', 'unbind')
  check({ claim: 'u', policy: 'Delete', annotations: made }, 'other', 'reclaim Delete')
  check({ claim: 'u', policy: 'Retain', annotations: made }, 'other', 'unbind')
  const migrated = { ...made, 'pv.kubernetes.io/migrated-to': 'd' }
  check({ claim: 'u', policy: 'Delete', annotations: migrated }, undefined, 'reclaim Retain')
  const kept = { isGoing: true, policy: 'Delete', finalizers: ['kubernetes.io/pv-controller'] }
  check(kept, undefined, 'reclaim Delete')
  check({ isGoing: true }, undefined, 'phase Available')
})

test('a volume mode mismatch is reported on claim and volume', () => {
  const volume = volumeOf({ claim: 'u' })
  const plan = planVolume(
    { ...volume, spec: { ...volume.spec, volumeMode: 'Block' } },
    { ...claim, spec: {} },
  )
  assert.equal(plan.do, 'mismatch')
})

test('an existing binding is not changed', () => {
  const volume = volumeOf({})
  const bound = boundVolume(volume, claim)
  assert.deepEqual(bound.metadata.annotations, chosen)
  assert.equal(boundVolume(bound, claim), bound)
  assert.deepEqual(unboundVolume(bound), volume)
  const kept = boundVolume(volumeOf({ claim: '' }), claim)
  assert.deepEqual([kept.metadata.annotations, kept.spec?.claimRef?.uid], [undefined, 'u'])
  assert.deepEqual(unboundVolume(kept).spec?.claimRef?.uid, undefined)
  assert.equal(unboundVolume(kept).spec?.claimRef?.name, 'c')
  const pointing = boundClaim(claim, bound)
  assert.equal(boundClaim(pointing, bound), pointing)
  const status = boundStatus({ ...pointing, status: { phase: 'Pending' } }, bound)
  assert.deepEqual(status, { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } })
  assert.equal(boundStatus({ ...pointing, status }, bound), status)
  const larger = { ...bound, spec: { ...bound.spec, capacity: { storage: '3Gi' } } }
  assert.equal(boundStatus({ ...pointing, status }, larger), status, 'who expands it says so')
  const lost = unboundStatus({ ...pointing, status }, 'Lost')
  assert.deepEqual(lost, { phase: 'Lost' })
  assert.equal(unboundStatus({ ...pointing, status: lost }, 'Lost'), lost)
})

test('a volume being expanded shows its previous capacity', () => {
  const annotations = { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' }
  const capacityOf = (text: VolumeText): unknown => {
    return boundStatus({ ...claim, status: { phase: 'Pending' } }, volumeOf(text)).capacity
  }
  assert.deepEqual(capacityOf({ annotations }), { storage: '1Gi' })
  const broken = { 'volume.alpha.kubernetes.io/pre-resize-capacity': 'much' }
  assert.deepEqual(capacityOf({ annotations: broken }), { storage: '2Gi' })
})

test('volumes get the annotations and finalizer of their provisioner', () => {
  const finalizersOf = (text: VolumeText): unknown => {
    return withMigrationAnnotations(volumeOf(text), name => name === 'p').metadata.finalizers
  }
  const finalizers = ['kubernetes.io/pv-controller']
  assert.deepEqual(finalizersOf({ annotations: made, policy: 'Delete' }), finalizers)
  assert.deepEqual(finalizersOf({ annotations: made, policy: 'Retain', finalizers }), undefined)
  assert.deepEqual(finalizersOf({ annotations: made, policy: 'Delete', isGoing: true }), undefined)
  assert.deepEqual(finalizersOf({ policy: 'Delete' }), undefined)
  const foreign = { 'pv.kubernetes.io/provisioned-by': 'other' }
  assert.deepEqual(finalizersOf({ annotations: foreign, policy: 'Delete' }), undefined)
  const old = volumeOf({ annotations: { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/aws-ebs' } })
  const marked = withMigrationAnnotations(old, () => false)
  assert.equal(marked.metadata.annotations?.['pv.kubernetes.io/migrated-to'], 'ebs.csi.aws.com')
  assert.equal(
    withMigrationAnnotations(marked, () => false),
    marked,
  )
  assert.deepEqual(['kubernetes.io/gce-pd', 'x'].map(migratedDriverOf), ['pd.csi.storage.gke.io', 'x'])
  assert.deepEqual(['kubernetes.io/no-provisioner', 'kubernetes.io/cinder', 'x'].map(isUnsupportedInTree), [
    true,
    false,
    false,
  ])
})
