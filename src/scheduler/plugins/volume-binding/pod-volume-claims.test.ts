import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { claimOf, classOf, podWithClaims, volumeOf } from '#/controllers/test-storage.ts'
import { nodeOf, stored } from '../../test-cluster.ts'
import { podVolumeClaims, type StorageWorld, type VolumePlan } from './pod-volume-claims.ts'

const classes: readonly Stored<StorageClass>[] = [
  classOf('local', {
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  }),
  classOf('made', { volumeBindingMode: 'WaitForFirstConsumer' }),
  classOf('zonal', {
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [
      { matchLabelExpressions: [] },
      { matchLabelExpressions: [{ key: 'zone', values: ['a', 'b'] }] },
    ],
  }),
  classOf('now', { volumeBindingMode: 'Immediate' }),
].map(stored)

/** `name class size`, then `>volume` for a bound claim, `@node` for a selected node, or a phase. */
function parseClaim(text: string): Stored<PersistentVolumeClaim> {
  const [name = '', storageClassName = '', size = '1Gi', ...words] = text.split(' ')
  const after = (sign: string): string | undefined => words.find(word => word.startsWith(sign))?.slice(1)
  const [volumeName, node] = [after('>'), after('@')]
  const annotations = {
    ...(volumeName && !words.includes('half') && { 'pv.kubernetes.io/bind-completed': 'yes' }),
    ...(node && { 'volume.kubernetes.io/selected-node': node }),
  }
  const claim = claimOf(
    name,
    size,
    { storageClassName, ...(volumeName && { volumeName }) },
    { annotations, ...(words.includes('going') && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
  )
  return stored({ ...claim, ...(words.includes('Lost') && { status: { phase: 'Lost' } }) })
}

/** `name class size @node` or `@zone=a`, and `=claim` for a pre-bound volume. */
function parseVolume(text: string): Stored<PersistentVolume> {
  const [name = '', storageClassName = '', size = '1Gi', ...words] = text.split(' ')
  const place = words.find(word => word.startsWith('@'))?.slice(1)
  const kept = words.find(word => word.startsWith('='))?.slice(1)
  const [key = '', value] = place?.includes('=') ? place.split('=') : ['kubernetes.io/hostname', place]
  const requirement = { key, operator: 'In', values: [value ?? ''] }
  return stored({
    ...volumeOf(name, size, {
      storageClassName,
      ...(place && {
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } },
      }),
      ...(kept && { claimRef: { namespace: 'default', name: kept } }),
    }),
    status: { phase: words.includes('Released') ? 'Released' : 'Available' },
  })
}

const node = nodeOf('n1', { labels: { zone: 'a' } })

/** Class and claim pairs without storage capacity. */
const full = new Set(['made big'])

function worldOf(claims: readonly string[], volumes: readonly string[]): StorageWorld {
  const parsed = new Map(claims.map(parseClaim).map(claim => [`default/${claim.metadata.name}`, claim]))
  const all = volumes.map(parseVolume)
  return {
    claim: key => parsed.get(key),
    assumedClaim: key => parsed.get(key),
    assumedVolume: name => all.find(({ metadata }) => metadata.name === name),
    candidates: () => all,
    storageClass: name => classes.find(({ metadata }) => metadata.name === name),
    hasEnoughCapacity: ({ metadata }, storageClass) =>
      full.has(`${storageClass.metadata.name} ${metadata.name}`) ? () => false : undefined,
  }
}

/** Expected: `fits: claim>volume claim+`, where `+` is provisioned; or the reasons against the node. */
function check(claims: readonly string[], volumes: readonly string[], expected: string): void {
  const names = claims.map(claim => claim.split(' ')[0]!.replace('?', ''))
  const world = worldOf(
    claims.filter(claim => !claim.endsWith('?')),
    volumes,
  )
  const storage = podVolumeClaims(podWithClaims('web', names), world)
  const plan: VolumePlan = { bindings: [], provisionedClaims: [] }
  const show = (): string => {
    if (storage === undefined) return 'nothing'
    if ('reason' in storage) return storage.reason
    const status = storage.findPodVolumes(node, plan)
    assert.deepEqual(storage.findPodVolumes(node), status, 'the same without a plan')
    if (status !== undefined) return [status.reason, ...(status.more ?? [])].join(' & ')
    const bindings = plan.bindings.map(each => `${each.claim.metadata.name}>${each.volume.metadata.name}`)
    return ['fits:', ...bindings, ...plan.provisionedClaims.map(({ metadata }) => `${metadata.name}+`)].join(
      ' ',
    )
  }
  assert.equal(show(), expected, `${claims.join(', ')} with ${volumes.join(', ')}`)
}

const conflict = "node(s) didn't match PersistentVolume's node affinity"
const noMatch = "node(s) didn't find available persistent volumes to bind"
const notEnoughCapacity = 'node(s) did not have enough free storage'
const gone = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'

test('unusable claims reject the pod for all nodes', () => {
  check([], [], 'nothing')
  check(['a?'], [], 'persistentvolumeclaim "a" not found')
  check(['a local 1Gi going'], [], 'persistentvolumeclaim "a" is being deleted')
  check(['a local 1Gi >v Lost'], [], 'persistentvolumeclaim "a" bound to non-existent persistentvolume "v"')
  const unbound = 'pod has unbound immediate PersistentVolumeClaims'
  check(['a now'], ['v now'], unbound)
  check(['a'], ['v'], unbound)
  check(['a none'], [], unbound)
  check(['a local 1Gi >v half'], ['v local'], unbound)
})

test('an ephemeral claim must be owned by the pod', () => {
  const pod = podWithClaims('web', [])
  const owned = {
    ...pod,
    spec: { ...pod.spec!, volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
  }
  const reasonWith = (claims: readonly string[]): string | undefined => {
    const storage = podVolumeClaims(owned, worldOf(claims, []))
    return storage !== undefined && 'reason' in storage ? storage.reason : undefined
  }
  assert.equal(
    reasonWith([]),
    'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-tmp"',
  )
  assert.equal(
    reasonWith(['web-tmp made']),
    'PVC default/web-tmp was not created for pod default/web (pod is not owner)',
  )
})

test('bound claims restrict the nodes by the node affinity of their volumes', () => {
  check(['a x 1Gi >v'], ['v x'], 'fits:')
  check(['a x 1Gi >v'], ['v x 1Gi @n1'], 'fits:')
  check(['a x 1Gi >v'], ['v x 1Gi @n2'], conflict)
  check(['a x 1Gi >v'], ['v x 1Gi @zone=a'], 'fits:')
  check(['a x 1Gi >v'], [], gone)
  check(['a x 1Gi >v', 'b x 1Gi >w'], ['v x', 'w x 1Gi @n2'], conflict)
  check(['a x 1Gi >v', 'b local'], ['v x 1Gi @n2'], `${conflict} & ${noMatch}`)
  check(['a x 1Gi >v', 'big made'], [], `${notEnoughCapacity} & ${gone}`)
})

test('delayed claims get the smallest matching volume usable on the node', () => {
  check(['a local 2Gi'], ['v local 5Gi', 'w local 3Gi', 'x local 1Gi'], 'fits: a>w')
  check(['a local'], ['v local 1Gi @n2', 'w local 9Gi @n1'], 'fits: a>w')
  check(['a local'], ['v local 1Gi @n2'], noMatch)
  check(['a local'], ['v local 1Gi Released'], noMatch)
  check(['a local', 'b local'], ['v local', 'w local'], 'fits: a>v b>w')
  check(['a local', 'b local'], ['v local'], noMatch)
  check(['a local 5Gi', 'b local'], ['v local 5Gi', 'w local'], 'fits: b>w a>v')
  check(['a local'], ['v local 9Gi =a', 'w local'], 'fits: a>v')
  check(['a local'], ['v local 9Gi =a @n2', 'w local'], noMatch)
  check(['a local'], ['v local 1Gi =other'], noMatch)
})

test('volumes are provisioned where the class and the capacity allow it', () => {
  check(['a made'], [], 'fits: a+')
  check(['a made'], ['v made'], 'fits: a>v')
  check(['a made 2Gi', 'b made'], ['v made'], 'fits: b>v a+')
  check(['a zonal'], [], 'fits: a+')
  check(['a made 1Gi @n1'], ['v made'], 'fits: a+')
  check(['a made 1Gi @n2'], ['v made'], noMatch)
  check(['big made'], [], notEnoughCapacity)
  check(['big made'], ['v made'], 'fits: big>v')
  check(['a local', 'big made'], [], noMatch)
})

test('allowedTopologies of the class restrict provisioning', () => {
  const storage = podVolumeClaims(podWithClaims('web', ['a']), worldOf(['a zonal'], []))
  assert.ok(storage !== undefined && 'findPodVolumes' in storage)
  assert.equal(storage.findPodVolumes(nodeOf('n2', { labels: { zone: 'b' } })), undefined)
  assert.equal(storage.findPodVolumes(nodeOf('n3', { labels: { zone: 'c' } }))?.reason, noMatch)
  assert.equal(storage.findPodVolumes(nodeOf('n4'))?.reason, noMatch)
})
