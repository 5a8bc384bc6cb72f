import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import type { ResourceClaim } from '#/api/generated/resource/v1.ts'
import { resourceClaims, resourceClaimTemplates } from '#/api/generated/resource/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { resourceClaimController } from './resource-claim.ts'
import { planResourceClaim } from './resource-claim/plan-resource-claim.ts'
import { generateNameFor } from './resource-claim/plan-pod.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { crashingController } from './test-crashes.ts'
import { allocate, claimOf, podWithClaims, templateOf } from './test-devices.ts'
import { bindPod } from './test-pods.ts'

/** Each claim as `name: consumers`, with `-` if it is not allocated and `!` if it has the finalizer. */
async function claimsIn(plane: TestControlPlane): Promise<readonly string[]> {
  return (await plane.list(resourceClaims)).map(({ metadata, status }) => {
    const who = status?.reservedFor?.map(({ name }) => name).join(' ') ?? ''
    const marks = `${status?.allocation ? '' : '-'}${metadata.finalizers ? '!' : ''}`
    return `${metadata.name.replace(/-[a-z0-9]{5}$/, '')}: ${who}${marks}`
  })
}

async function end(plane: TestControlPlane, name: string): Promise<void> {
  await plane.changeStatus(pods, `default/${name}`, pod => ({
    ...pod,
    status: { ...pod.status, phase: 'Succeeded' },
  }))
}

async function remove(plane: TestControlPlane, name: string): Promise<void> {
  await plane.run(plane.client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds: 0 }))
  await plane.settle()
}

test('a pod gets a ResourceClaim per template, recorded in its status', async t => {
  const plane = await startTestControlPlane(t, [resourceClaimController])
  await plane.create(resourceClaimTemplates, templateOf('gpu'))
  const pod = await plane.create(pods, podWithClaims('web', ['a<gpu', 'b<gpu', 'c=shared']))
  const [first, second, ...more] = await plane.list(resourceClaims)
  assert.deepEqual(more, [])
  assert.match(first?.metadata.name ?? '', /^web-a-[a-z0-9]{5}$/)
  assert.deepEqual(first?.metadata.ownerReferences, [
    { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: pod.metadata.uid, controller: true },
  ])
  assert.deepEqual(first?.metadata.labels, { team: 'a' })
  assert.deepEqual(first?.metadata.annotations, {
    'note': 'n',
    'resource.kubernetes.io/pod-claim-name': 'a',
  })
  assert.deepEqual(first?.spec, { ...templateOf('gpu').spec.spec, ...first?.spec })
  const [told] = await plane.list(pods)
  assert.deepEqual(told?.status?.resourceClaimStatuses, [
    { name: 'a', resourceClaimName: first?.metadata.name },
    { name: 'b', resourceClaimName: second?.metadata.name },
  ])
  // A deleted claim is recreated; the other one is unchanged.
  await plane.run(plane.client.delete(resourceClaims, { namespace: 'default', name: first?.metadata.name }))
  await plane.settle()
  const [again] = await plane.list(pods)
  const names = new Map(
    again?.status?.resourceClaimStatuses?.map(each => [each.name, each.resourceClaimName]),
  )
  assert.equal(names.get('b'), second?.metadata.name)
  assert.notEqual(names.get('a'), first?.metadata.name)
  assert.equal((await plane.list(resourceClaims)).length, 2)
})

test('long generated claim names are truncated in proportion', () => {
  assert.equal(generateNameFor('web', 'gpu'), 'web-gpu-')
  const long = generateNameFor('p'.repeat(80), 'e'.repeat(20))
  assert.ok(long.length <= 57)
  assert.match(long, /^p+-e+$/)
})

test('a missing ResourceClaimTemplate is waited for', async t => {
  const plane = await startTestControlPlane(t, [resourceClaimController])
  await plane.create(pods, podWithClaims('web', ['a<gpu']))
  assert.deepEqual(
    (await plane.list(events)).map(({ type, reason, message }) => [type, reason, message]),
    [
      [
        'Warning',
        'FailedResourceClaimCreation',
        'PodResourceClaim a: resource claim template "gpu": resourceclaimtemplate.resource.k8s.io "gpu" not found',
      ],
    ],
  )
  await plane.create(resourceClaimTemplates, templateOf('gpu'))
  assert.deepEqual(await claimsIn(plane), ['web-a: -'])
})

test('the generated claim of a finished pod is deallocated and deleted', async t => {
  const plane = await startTestControlPlane(t, [resourceClaimController])
  await plane.create(resourceClaimTemplates, templateOf('gpu'))
  const pod = await plane.create(pods, podWithClaims('web', ['a<gpu']))
  const [claim] = await plane.list(resourceClaims)
  await allocate(plane, claim?.metadata.name ?? '', { pods: [pod] })
  await bindPod(plane, pod, 'n1')
  assert.deepEqual(await claimsIn(plane), ['web-a: web!'])
  await end(plane, 'web')
  assert.deepEqual(await claimsIn(plane), [])
})

test('a shared claim is deallocated after its last consumer, and kept', async t => {
  const plane = await startTestControlPlane(t, [resourceClaimController])
  await plane.create(resourceClaims, claimOf('shared'))
  const both: Stored<Pod>[] = []
  for (const name of ['one', 'two']) both.push(await plane.create(pods, podWithClaims(name, ['a=shared'])))
  await allocate(plane, 'shared', { pods: both })
  assert.deepEqual(await claimsIn(plane), ['shared: one two!'])
  await remove(plane, 'one')
  assert.deepEqual(await claimsIn(plane), ['shared: two!'])
  await remove(plane, 'two')
  assert.deepEqual(await claimsIn(plane), ['shared: -'])
})

test('a pod created with nodeName gets its claim reserved', async t => {
  const plane = await startTestControlPlane(t, [resourceClaimController])
  await plane.create(resourceClaims, claimOf('shared'))
  await allocate(plane, 'shared', {})
  await plane.create(pods, podWithClaims('web', ['a=shared'], { nodeName: 'n1' }))
  assert.deepEqual(await claimsIn(plane), ['shared: web!'])
})

test('the claim of extended resources is deleted with its pod', async t => {
  const plane = await startTestControlPlane(t, [resourceClaimController])
  const given = podWithClaims('web', [])
  const resources = { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '1' } }
  const containers = given.spec!.containers.map(each => ({ ...each, resources }))
  const pod = await plane.create(pods, { ...given, spec: { ...given.spec, containers } })
  const { uid } = pod.metadata
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid, controller: true }
  await plane.create(resourceClaims, {
    ...claimOf('extended'),
    metadata: { ...claimOf('extended').metadata, ownerReferences: [owner] },
  })
  await allocate(plane, 'extended', { pods: [pod] })
  const requestMappings = [{ containerName: 'main', resourceName: 'example.com/gpu', requestName: 'gpu' }]
  const extendedResourceClaimStatus = { requestMappings, resourceClaimName: 'extended' }
  await plane.changeStatus(pods, 'default/web', each => ({
    ...each,
    status: { ...each.status, extendedResourceClaimStatus },
  }))
  await end(plane, 'web')
  assert.deepEqual(await claimsIn(plane), [])
})

test('planResourceClaim: reservations, deallocation and deletion', () => {
  const pod = (name: string): object => ({ resource: 'pods', name, uid: name })
  const group = { apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'group', uid: 'group' }
  const finalizers = ['resource.kubernetes.io/delete-protection']
  const cases: readonly [marks: string, reservedFor: readonly object[], expected: string][] = [
    // Flags of the claim: a allocated, f has the finalizer, d being deleted, o created for a finished pod;
    // then the expected actions.
    ['af', [pod('stays')], ''],
    ['af', [pod('over'), pod('stays')], 'reserved:stays allocated'],
    ['af', [pod('over')], 'reserved: freed unprotected'],
    ['a', [pod('over')], 'reserved: allocated'],
    ['af', [group], ''],
    ['af', [pod('over'), group], 'reserved:group allocated'],
    ['af', [], ''],
    ['f', [], ''],
    ['afd', [], 'reserved: freed unprotected'],
    ['fd', [], 'unprotected'],
    ['afd', [pod('stays')], ''],
    ['o', [], 'deleted'],
    ['od', [], ''],
    ['afo', [pod('stays')], ''],
    ['afo', [pod('over')], 'reserved: freed unprotected deleted'],
  ]
  for (const [marks, reservedFor, expected] of cases) {
    const has = (mark: string): boolean => marks.includes(mark)
    const claim: ResourceClaim = {
      ...claimOf('c'),
      metadata: {
        name: 'c',
        ...(has('f') && { finalizers }),
        ...(has('d') && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      },
      status: { ...(has('a') && { allocation: {} }), reservedFor: reservedFor as never },
    }
    const plan = planResourceClaim({ claim, isOver: ({ name }) => name === 'over', isOrphan: has('o') })
    const got = [
      plan.status && `reserved:${plan.status.reservedFor?.map(({ name }) => name).join() ?? ''}`,
      plan.status && (plan.status.allocation ? 'allocated' : 'freed'),
      plan.removeFinalizer && 'unprotected',
      plan.delete && 'deleted',
    ]
    assert.equal(got.filter(Boolean).join(' '), expected, `${marks} ${JSON.stringify(reservedFor)}`)
  }
})

test('after a crash at any write, a pod has one claim per entry, and none when finished', async t => {
  for (let writes = 1; ; writes++) {
    const { controller, hasCrashed } = crashingController(resourceClaimController, writes)
    const plane = await startTestControlPlane(t, [controller])
    await plane.create(resourceClaimTemplates, templateOf('gpu'))
    const pod = await plane.create(pods, podWithClaims('web', ['a<gpu', 'b<gpu']))
    await plane.advance(30_000)
    const names = (await plane.list(resourceClaims)).map(({ metadata }) => metadata.name)
    const [told] = await plane.list(pods)
    const said = told?.status?.resourceClaimStatuses?.map(each => each.resourceClaimName)
    assert.deepEqual(said?.toSorted(), names.toSorted(), `${writes}`)
    assert.equal(names.length, 2)
    for (const name of names) await allocate(plane, name, { pods: [pod] })
    await end(plane, 'web')
    await plane.advance(30_000)
    assert.deepEqual(await claimsIn(plane), [], `${writes}`)
    if (!hasCrashed()) break
  }
})
