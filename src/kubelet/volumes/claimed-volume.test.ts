import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { stored } from '../testdata/objects.ts'
import { checkNodeAffinity, groupOfVolume, claimProblem, volumeProblem } from './claimed-volume.ts'

const bound = stored<PersistentVolumeClaim>({
  metadata: { namespace: 'default', name: 'claim', uid: 'u1' },
  spec: { volumeName: 'pv' },
  status: { phase: 'Bound' },
})
const deleted = { ...bound.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }

const claims: readonly (readonly [claim: PersistentVolumeClaim, expected: string | undefined])[] = [
  [bound, undefined],
  [{ ...bound, status: { phase: 'Pending' } }, 'PVC is not bound'],
  [{ ...bound, status: {} }, 'PVC is not bound'],
  [{ ...bound, spec: {} }, 'PVC has empty pvc.Spec.VolumeName'],
  [{ ...bound, metadata: deleted }, 'PVC is being deleted'],
  [{ ...bound, metadata: { ...deleted, finalizers: ['kubernetes.io/pvc-protection'] } }, undefined],
]

test('a claim is usable when bound and not terminating', () => {
  for (const [claim, expected] of claims) assert.equal(claimProblem(claim), expected)
})

const volumeOf = (uid?: string): Stored<PersistentVolume> =>
  stored({ metadata: { name: 'pv' }, spec: uid === undefined ? {} : { claimRef: { uid } } })

test('a volume must reference the claim back', () => {
  assert.equal(volumeProblem(volumeOf('u1'), bound), undefined)
  assert.equal(
    volumeProblem(volumeOf(), bound),
    'found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim',
  )
  assert.equal(
    volumeProblem(volumeOf('u2'), bound),
    'found PV object pv but its pv.Spec.ClaimRef.UID u2 does not point to claim.UID u1',
  )
})

test('a volume with affinity to another node is rejected', () => {
  const onNode = (value: string): PersistentVolume => ({
    metadata: {},
    spec: {
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'host', operator: 'In', values: [value] }] }],
        },
      },
    },
  })
  checkNodeAffinity({ metadata: {}, spec: {} }, {})
  checkNodeAffinity(onNode('n1'), { host: 'n1' })
  const refusal = { message: 'no matching NodeSelectorTerms', step: 'MountVolume.NodeAffinity check failed' }
  assert.throws(() => checkNodeAffinity(onNode('n2'), { host: 'n1' }), refusal)
  const block = { metadata: {}, spec: { ...onNode('n2').spec, volumeMode: 'Block' } }
  assert.throws(() => checkNodeAffinity(block, {}), {
    ...refusal,
    step: 'MapVolume.NodeAffinity check failed',
  })
})

test('the group annotation of a volume must be a number', () => {
  const groupOf = (text: string): number | undefined =>
    groupOfVolume({ metadata: { annotations: { 'pv.beta.kubernetes.io/gid': text } } })
  assert.equal(groupOf('1234'), 1234)
  assert.equal(groupOf('-1'), undefined)
  assert.equal(groupOf('wheel'), undefined)
  assert.equal(groupOfVolume({ metadata: {} }), undefined)
})
