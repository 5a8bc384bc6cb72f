import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import type { OwnerReference, Stored } from '#/api/metadata.ts'
import { hasStaleClaim, planClaims, type ClaimsPlan } from './claims.ts'
import { stored } from '../test-stored.ts'

function setOf(whenDeleted: string, whenScaled: string): Stored<StatefulSet> {
  return stored({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { namespace: 'default', name: 'web', uid: 'set' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {},
      persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
      volumeClaimTemplates: [{ metadata: { name: 'data', labels: { app: 'x', kept: 'yes' } } }],
    },
  })
}

const pod: Stored<Pod> = stored({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'web-1', uid: 'pod' },
})

const references: Readonly<Record<string, OwnerReference>> = {
  'set': { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'set', controller: true },
  'old-set': { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'old-set', controller: true },
  'pod': { apiVersion: 'v1', kind: 'Pod', name: 'web-1', uid: 'pod', controller: true },
  'old-pod': { apiVersion: 'v1', kind: 'Pod', name: 'web-1', uid: 'old-pod', controller: true },
  'mere-set': { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'set' },
  'friend': { apiVersion: 'v1', kind: 'ConfigMap', name: 'friend', uid: 'friend' },
  'other': { apiVersion: 'v1', kind: 'Database', name: 'other', uid: 'other', controller: true },
}

function claimOf(owners: string): PersistentVolumeClaim {
  const ownerReferences = owners === '' ? [] : owners.split(' ').map(name => references[name]!)
  return { metadata: { namespace: 'default', name: 'data-web-1', ownerReferences } }
}

interface Scenario {
  /** `whenDeleted whenScaled`. */
  readonly policy: 'Retain Retain' | 'Delete Retain' | 'Retain Delete' | 'Delete Delete'
  readonly isCondemned?: boolean
  /** Undefined if the claim does not exist. */
  readonly owners?: string
}

function planned({ policy, isCondemned = false, owners }: Scenario): ClaimsPlan {
  const [whenDeleted = '', whenScaled = ''] = policy.split(' ')
  const claim = owners === undefined ? undefined : claimOf(owners)
  const set = setOf(whenDeleted, whenScaled)
  return planClaims({ set, ordinal: 1, isCondemned, pod, claimOf: () => claim })
}

/** Owner uids after the plan; `same` if nothing changes. */
function check(scenario: Scenario, expected: string): void {
  const { create, update } = planned(scenario)
  const [claim] = scenario.owners === undefined ? create : update
  const owners = claim?.metadata.ownerReferences ?? []
  for (const { uid, controller } of owners) assert.ok(controller === true || uid === 'friend')
  const actual = claim === undefined ? 'same' : owners.map(({ uid }) => uid).join(' ')
  assert.equal(actual, expected, JSON.stringify(scenario))
}

test('the retention policy determines the owners of claims', () => {
  check({ policy: 'Retain Retain' }, '')
  check({ policy: 'Delete Retain' }, 'set')
  check({ policy: 'Retain Delete' }, '')
  check({ policy: 'Delete Delete' }, 'set')
  check({ policy: 'Retain Retain', owners: 'set' }, '')
  check({ policy: 'Retain Retain', owners: 'pod friend' }, 'friend')
  check({ policy: 'Retain Retain', owners: 'other' }, 'same')
  check({ policy: 'Delete Retain', owners: '' }, 'set')
  check({ policy: 'Delete Retain', owners: 'friend mere-set' }, 'friend set')
  check({ policy: 'Delete Retain', owners: 'set', isCondemned: true }, 'same')
  check({ policy: 'Retain Delete', owners: '', isCondemned: true }, 'pod')
  check({ policy: 'Retain Delete', owners: 'pod' }, '')
  check({ policy: 'Delete Delete', owners: 'set', isCondemned: true }, 'pod')
  check({ policy: 'Delete Delete', owners: 'pod' }, 'set')
  check({ policy: 'Delete Delete', owners: 'pod', isCondemned: true }, 'same')
})

test('claims of earlier pods and of other controllers are not changed', () => {
  check({ policy: 'Delete Delete', owners: 'old-pod' }, 'same')
  check({ policy: 'Delete Delete', owners: 'old-set' }, 'same')
  check({ policy: 'Delete Delete', owners: 'other' }, 'same')
  check({ policy: 'Delete Retain', owners: 'other mere-set' }, 'other')
  assert.deepEqual(planned({ policy: 'Delete Retain', owners: 'other' }).conflicting, ['data-web-1'])
  assert.deepEqual(planned({ policy: 'Retain Retain', owners: 'other' }).conflicting, [])
})

test('a claim owned by an earlier pod is stale for the next one', () => {
  const isLeftover = (whenScaled: string, owners: string): boolean => {
    const set = setOf('Retain', whenScaled)
    return hasStaleClaim({ set, ordinal: 1, pod: undefined, claimOf: () => claimOf(owners) })
  }
  assert.equal(isLeftover('Delete', 'pod'), true)
  assert.equal(isLeftover('Delete', 'set'), false)
  assert.equal(isLeftover('Delete', ''), false)
  assert.equal(isLeftover('Retain', 'pod'), false)
})

test('a new claim has the labels of its template and of the selector', () => {
  const [claim] = planned({ policy: 'Retain Retain' }).create
  assert.deepEqual(claim?.metadata, {
    namespace: 'default',
    name: 'data-web-1',
    labels: { app: 'web', kept: 'yes' },
  })
  const set = setOf('Retain', 'Retain')
  const terminating = { metadata: { name: 'data-web-1', deletionTimestamp: 'now' } }
  const plan = planClaims({ set, ordinal: 1, isCondemned: false, pod, claimOf: () => terminating })
  assert.deepEqual(plan.terminating, ['data-web-1'])
})
