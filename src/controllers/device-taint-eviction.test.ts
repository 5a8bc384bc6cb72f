import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import type {
  DeviceTaint,
  DeviceToleration,
  ResourceClaim,
  ResourceSlice,
} from '#/api/generated/resource/v1.ts'
import { resourceClaims, resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { deviceTaintEvictionController, evictionTimeMs } from './device-taint-eviction.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { allocate, claimOf, driver, podWithClaims } from './test-devices.ts'
import { stored } from './test-stored.ts'

function sliceOf(name: string, taints: readonly DeviceTaint[], generation = 1): Stored<ResourceSlice> {
  const pool = { name: 'n1', generation, resourceSliceCount: 1 }
  return stored({
    metadata: { name },
    spec: { driver, pool, nodeName: 'n1', devices: [{ name: 'gpu-0', taints }] },
  })
}

test('evictionTimeMs: taints, tolerations and generations of devices', () => {
  const atMs = Date.UTC(2026, 0, 1)
  const timeAdded = formatTime(atMs)
  const broken = { key: 'broken', value: 'yes', effect: 'NoExecute', timeAdded }
  const pod: Pod = {
    ...podWithClaims('web', ['a=c'], { nodeName: 'n1' }),
    metadata: { name: 'web', uid: 'web' },
  }
  const claim = (tolerations: readonly DeviceToleration[], uid = 'web'): ResourceClaim => {
    const results = [{ request: 'gpu', driver, pool: 'n1', device: 'gpu-0', tolerations }]
    const reservedFor = [{ resource: 'pods', name: 'web', uid }]
    return { ...claimOf('c'), status: { allocation: { devices: { results } }, reservedFor } }
  }
  const check = (
    expectedSeconds: number | undefined,
    {
      slices = [sliceOf('s', [broken])],
      of = pod,
      held = claim([]),
    }: {
      readonly slices?: readonly Stored<ResourceSlice>[]
      readonly of?: Pod
      readonly held?: ResourceClaim
    },
  ): void => {
    const gotMs = evictionTimeMs(of, {
      claimNamed: name => (name === 'c' ? held : undefined),
      slicesOf: (ofDriver, pool) => (ofDriver === driver && pool === 'n1' ? slices : []),
    })
    assert.equal(gotMs, expectedSeconds === undefined ? undefined : atMs + expectedSeconds * 1_000)
  }
  const tolerating = (...tolerations: readonly DeviceToleration[]): { readonly held: ResourceClaim } => {
    return { held: claim(tolerations.map(each => ({ effect: 'NoExecute', ...each }))) }
  }
  check(0, {})
  check(undefined, { of: podWithClaims('web', ['a=c']) })
  check(undefined, { of: { ...pod, spec: { ...pod.spec!, resourceClaims: [] } } })
  check(undefined, { held: claim([], 'another of that name') })
  check(undefined, { slices: [sliceOf('s', [{ ...broken, effect: 'NoSchedule' }])] })
  check(undefined, { slices: [sliceOf('s', [{ ...broken, effect: 'None' }])] })
  check(undefined, { slices: [] })
  // Only the newest generation of the pool counts.
  check(undefined, { slices: [sliceOf('s', [broken]), sliceOf('t', [], 2)] })
  check(0, { slices: [sliceOf('s', []), sliceOf('t', [broken], 2)] })
  check(undefined, tolerating({ operator: 'Exists' }))
  check(undefined, tolerating({ key: 'broken', value: 'yes' }))
  check(0, tolerating({ key: 'broken', value: 'no' }))
  check(0, tolerating({ key: 'other', operator: 'Exists' }))
  check(0, tolerating({ key: 'broken', operator: 'Exists', effect: 'NoSchedule' }))
  check(60, tolerating({ key: 'broken', operator: 'Exists', tolerationSeconds: 60 }))
  check(0, tolerating({ key: 'broken', operator: 'Exists', tolerationSeconds: -5 }))
  const both = [{ tolerationSeconds: 60 }, { tolerationSeconds: 30 }].map(each => ({
    operator: 'Exists',
    ...each,
  }))
  check(30, tolerating(...both))
  check(undefined, tolerating(...both, { operator: 'Exists' }))
  const twice = [broken, { ...broken, key: 'hot', timeAdded: formatTime(atMs - 10_000) }]
  check(-10, { slices: [sliceOf('s', twice)] })
})

async function startUsed(
  t: TestContext,
  tolerations: readonly DeviceToleration[] = [],
): Promise<{ readonly plane: TestControlPlane; readonly taint: (on: boolean) => Promise<void> }> {
  const plane = await startTestControlPlane(t, [deviceTaintEvictionController])
  await plane.create(resourceSlices, sliceOf('s', []))
  await plane.create(resourceClaims, claimOf('c'))
  const pod = await plane.create(pods, podWithClaims('web', ['a=c'], { nodeName: 'n1' }))
  await allocate(plane, 'c', { pods: [pod], tolerations })
  return {
    plane,
    taint: async on => {
      const timeAdded = formatTime(plane.platform.clock.now())
      const taints = on ? [{ key: 'broken', effect: 'NoExecute', timeAdded }] : []
      await plane.change(resourceSlices, 's', slice => ({ ...slice, spec: sliceOf('s', taints).spec }))
    },
  }
}

async function messages(plane: TestControlPlane): Promise<readonly (string | undefined)[]> {
  return (await plane.list(events)).map(({ reason, message }) => `${reason}: ${message}`)
}

test('a pod is evicted when its device gets a NoExecute taint', async t => {
  const { plane, taint } = await startUsed(t)
  assert.equal((await plane.list(pods)).length, 1)
  await taint(true)
  const [pod] = await plane.list(pods)
  assert.ok(pod?.metadata.deletionTimestamp)
  const { reason, message } = pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget') ?? {}
  assert.deepEqual(
    [reason, message],
    ['DeletionByDeviceTaintManager', 'Device Taint manager: deleting due to NoExecute taint'],
  )
  assert.deepEqual(await messages(plane), ['DeviceTaintManagerEviction: Marking for deletion'])
})

test('a tolerating pod is evicted after tolerationSeconds unless the taint is removed', async t => {
  const tolerations = [{ key: 'broken', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }]
  const { plane, taint } = await startUsed(t, tolerations)
  const isLeaving = async (): Promise<boolean> => {
    return (await plane.list(pods))[0]?.metadata.deletionTimestamp !== undefined
  }
  await taint(true)
  await plane.advance(200_000)
  await taint(false)
  assert.deepEqual(await messages(plane), ['DeviceTaintManagerEviction: Cancelling deletion'])
  await plane.advance(400_000)
  assert.equal(await isLeaving(), false)
  await taint(true)
  await plane.advance(290_000)
  assert.equal(await isLeaving(), false)
  await plane.advance(15_000)
  assert.equal(await isLeaving(), true)
})

test('a pod that is bound to a tainted device is evicted at once', async t => {
  const plane = await startTestControlPlane(t, [deviceTaintEvictionController])
  const timeAdded = formatTime(plane.platform.clock.now())
  await plane.create(resourceSlices, sliceOf('s', [{ key: 'broken', effect: 'NoExecute', timeAdded }]))
  await plane.create(resourceClaims, claimOf('c'))
  const pod = await plane.create(pods, podWithClaims('web', ['a=c'], { nodeName: 'n1' }))
  assert.equal((await plane.list(pods))[0]?.metadata.deletionTimestamp, undefined)
  await allocate(plane, 'c', { pods: [pod] })
  assert.ok((await plane.list(pods))[0]?.metadata.deletionTimestamp)
})
