import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MetricsRegistry } from '#/base/metrics.ts'
import { annotationOf } from '#/api/metadata.ts'
import { isApiError } from '#/api/errors.ts'
import { nodes, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import type { Controller } from './controller.ts'
import { hostPathProvisioner } from './host-path-provisioner.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { crashingController } from './test-crashes.ts'
import { claimOf, classOf, nodeOf, showClaims, showVolumes, volumeOf } from './test-storage.ts'

const provisioner = hostPathProvisioner({ removeFolder: () => Promise.resolve() })
const binder = persistentVolumeBinderController({ provisioners: [provisioner] })

const lazy = classOf('lazy', { provisioner: provisioner.name, volumeBindingMode: 'WaitForFirstConsumer' })
const onNode = { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } }

/** Checks at every change that no two claims are bound to the same volume. */
function watcher(violations: string[]): Controller {
  return {
    name: 'watcher',
    account: 'persistent-volume-binder',
    setUp: ({ informer }) => {
      const claims = informer(persistentVolumeClaims)
      claims.addEventHandler(() => {
        const seen = new Map<string, string>()
        for (const { metadata, spec } of claims.list().filter(isBound)) {
          const [volume = '', name] = [spec?.volumeName, metadata.name] as const
          if (seen.has(volume)) violations.push(`${volume} of ${seen.get(volume)} and ${name}`)
          seen.set(volume, name)
        }
      })
      return () => Promise.resolve()
    },
  }
}

function isBound(claim: PersistentVolumeClaim): boolean {
  return (
    annotationOf(claim, 'pv.kubernetes.io/bind-completed') !== undefined && claim.status?.phase !== 'Lost'
  )
}

/**
 * Checks the settled state: bindings are complete on both sides, and no claim waits while a suitable volume
 * is available.
 */
async function checkRest(plane: TestControlPlane, about: string): Promise<void> {
  const [claims, volumes] = [await plane.list(persistentVolumeClaims), await plane.list(persistentVolumes)]
  const show = `${about}\n${await showClaims(plane)}\n${await showVolumes(plane)}`
  for (const { metadata, status } of claims.filter(isBound)) {
    const pointing = volumes.filter(({ spec }) => spec?.claimRef?.uid === metadata.uid)
    assert.deepEqual([pointing.length, status?.phase], [1, 'Bound'], show)
  }
  for (const { metadata, spec, status } of volumes) {
    const has = claims.filter(claim => claim.spec?.volumeName === metadata.name && isBound(claim))
    if (status?.phase === 'Bound')
      assert.deepEqual([has.length, has[0]?.metadata.uid], [1, spec?.claimRef?.uid], show)
    else assert.ok(status?.phase === 'Available' || status?.phase === 'Released', show)
    const isFree = status?.phase === 'Available' && spec?.claimRef === undefined
    const waiting = claims.filter(claim => !claim.spec?.volumeName && claim.spec?.storageClassName === '')
    if (isFree) assert.equal(waiting.length, 0, show)
  }
}

test('after a crash at any write, the binding completes and nothing is provisioned twice', async t => {
  for (let writes = 1; ; writes++) {
    const { controller, hasCrashed } = crashingController(binder, writes)
    const violations: string[] = []
    const plane = await startTestControlPlane(t, [controller, watcher(violations)])
    const about = `after ${writes} writes`
    await plane.create(nodes, nodeOf('n1'))
    await plane.create(storageClasses, lazy)
    await plane.create(persistentVolumes, volumeOf('v', '1Gi', { storageClassName: '' }))
    await plane.create(persistentVolumeClaims, claimOf('plain', '1Gi', { storageClassName: '' }))
    await plane.create(persistentVolumeClaims, claimOf('made', '1Gi', { storageClassName: 'lazy' }, onNode))
    assert.match(await showClaims(plane), /^made:Bound>pvc-\S+ plain:Bound>v$/, about)
    await checkRest(plane, about)
    for (const name of ['plain', 'made'])
      await plane.run(plane.client.delete(persistentVolumeClaims, { namespace: 'default', name }))
    await plane.advance(5_000)
    assert.equal(await showVolumes(plane), 'v:Released>plain', about)
    assert.deepEqual(violations, [], about)
    if (!hasCrashed()) {
      assert.ok(writes > 12, about)
      return
    }
  }
})

/** Delays each reconcile and each write, so that decisions are made on stale state. */
function slowController(controller: Controller, delaysMs: readonly number[]): Controller {
  let count = 0
  return {
    ...controller,
    setUp: context => {
      // Each binder stands for a process with its own metrics.
      const reconcile = controller.setUp({ ...context, metrics: new MetricsRegistry() })
      const { clock } = context.platform
      return async work => {
        const wait = (): Promise<void> => clock.sleep(delaysMs[count++ % delaysMs.length]!, work.signal)
        const { client } = work
        await wait()
        return reconcile({
          ...work,
          client: {
            ...client,
            update: async (resource, object) => {
              await wait()
              return client.update(resource, object)
            },
            updateStatus: async (resource, object) => {
              await wait()
              return client.updateStatus(resource, object)
            },
          },
        })
      }
    },
  }
}

type Step =
  | { readonly do: 'claim'; readonly name: string; readonly size: number; readonly volumeName?: string }
  | { readonly do: 'volume'; readonly name: string; readonly size: number; readonly claim?: string }
  | { readonly do: 'unclaim' | 'remove'; readonly name: string }
  | { readonly do: 'settle' }

const claimName = fc.constantFrom('a', 'b', 'c')
const volumeName = fc.constantFrom('u', 'v', 'w')
const size = fc.integer({ min: 1, max: 3 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('claim' as const), name: claimName, size }),
  fc.record({ do: fc.constant('claim' as const), name: claimName, size, volumeName }),
  fc.record({ do: fc.constant('volume' as const), name: volumeName, size }),
  fc.record({ do: fc.constant('volume' as const), name: volumeName, size, claim: claimName }),
  fc.record({ do: fc.constant('unclaim' as const), name: claimName }),
  fc.record({ do: fc.constant('remove' as const), name: volumeName }),
  fc.constant({ do: 'settle' as const }),
)

/** Three claims for two volumes. */
const contended: readonly Step[] = [
  { do: 'claim', name: 'a', size: 1 },
  { do: 'claim', name: 'b', size: 1 },
  { do: 'claim', name: 'c', size: 1 },
  { do: 'settle' },
  { do: 'volume', name: 'u', size: 1 },
  { do: 'volume', name: 'v', size: 1 },
]

async function perform({ client, settle }: TestControlPlane, action: Step): Promise<unknown> {
  switch (action.do) {
    case 'claim': {
      const chosen = action.volumeName === undefined ? {} : { volumeName: action.volumeName }
      const spec = { storageClassName: '', ...chosen }
      return client.create(persistentVolumeClaims, claimOf(action.name, `${action.size}Gi`, spec))
    }
    case 'volume': {
      const spec =
        action.claim === undefined ? {} : { claimRef: { namespace: 'default', name: action.claim } }
      return client.create(persistentVolumes, volumeOf(action.name, `${action.size}Gi`, spec))
    }
    case 'unclaim':
      return client.delete(persistentVolumeClaims, { namespace: 'default', name: action.name })
    case 'remove':
      return client.delete(persistentVolumes, { name: action.name })
    case 'settle':
      return settle()
  }
}

test('no volume is bound to two claims with two binders and a crash, in any order of events', async t => {
  const steps = fc.array(step, { maxLength: 10 })
  const delays = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 7 })
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 12 }), delays, async (actions, writes, delaysMs) => {
      const violations: string[] = []
      const { controller } = crashingController(binder, writes)
      const other = slowController(binder, delaysMs)
      const plane = await startTestControlPlane(t, [
        slowController(controller, [3, 0, 1]),
        other,
        watcher(violations),
      ])
      for (const action of [...contended, ...actions]) {
        const performing = perform(plane, action)
        if (action.do === 'settle') await performing
        else
          await plane.run(performing).catch((error: unknown) => {
            if (!isApiError(error, 'AlreadyExists') && !isApiError(error, 'NotFound')) throw error
          })
      }
      await plane.advance(10_000)
      assert.deepEqual(violations, [])
      await checkConsistent(plane)
    }),
    { numRuns: 10 },
  )
})

/** Like `checkRest`, but claims and volumes may be pre-bound in ways that can never be satisfied. */
async function checkConsistent(plane: TestControlPlane): Promise<void> {
  const [claims, volumes] = [await plane.list(persistentVolumeClaims), await plane.list(persistentVolumes)]
  const show = `${await showClaims(plane)}\n${await showVolumes(plane)}`
  for (const { metadata, spec, status } of claims) {
    const volume = volumes.find(each => each.metadata.name === spec?.volumeName)
    const isPointed = volume !== undefined && volume.spec?.claimRef?.uid === metadata.uid
    assert.equal(status?.phase === 'Bound', isPointed && volume.status?.phase === 'Bound', show)
  }
  for (const { metadata, spec, status } of volumes) {
    const claim = claims.find(each => each.metadata.uid === spec?.claimRef?.uid)
    assert.equal(
      status?.phase === 'Bound',
      claim?.spec?.volumeName === metadata.name && claim !== undefined,
      show,
    )
    assert.notEqual(status?.phase, 'Pending', show)
  }
}
