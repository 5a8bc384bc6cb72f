/** The conformance tests of the dynamic resource allocation APIs that need no containers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import {
  deviceClasses,
  resourceClaims,
  resourceClaimTemplates,
  resourceSlices,
} from '#/api/generated/resource/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { resourceClaimController } from './resource-claim.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { claimOf, driver, templateOf } from './test-devices.ts'

const pool = { name: 'n1', generation: 1, resourceSliceCount: 1 }
const slice = { spec: { driver, pool, nodeName: 'n1', devices: [{ name: 'gpu-0' }] } }
const selectors = [{ cel: { expression: `device.driver == "${driver}"` } }]

const kinds = {
  'CRUD operations for deviceclasses': [deviceClasses as Resource, { spec: { selectors } }],
  'CRUD operations for resourceclaims': [resourceClaims as Resource, claimOf('')],
  'CRUD operations for resourceclaimtemplates': [resourceClaimTemplates as Resource, templateOf('')],
  'CRUD operations for resourceslices': [resourceSlices as Resource, slice],
} as const

for (const [name, [resource, object]] of Object.entries(kinds)) {
  test(name, async t => {
    const { client, run } = await startTestControlPlane(t, [resourceClaimController])
    const namespace = resource.scope === 'Namespaced' ? 'default' : undefined
    const labels = { special: 'yes' }
    const at = { namespace, name: 'a' }
    const named = (each: string): KubernetesObject => {
      return { ...object, metadata: { ...(namespace && { namespace }), name: each, labels } }
    }
    const watched: string[] = []
    const first = await run(client.create(resource, named('a')))
    const watching = new AbortController()
    const resourceVersion = first.metadata.resourceVersion
    const watch = async (): Promise<void> => {
      const { signal } = watching
      for await (const { type, object: seen } of client.watch(resource, {
        namespace,
        resourceVersion,
        signal,
      })) {
        watched.push(`${type} ${seen.metadata.name}`)
        if (watched.at(-1) === 'DELETED a') return
      }
    }
    const following = watch()
    assert.equal((await run(client.get(resource, at))).metadata.uid, first.metadata.uid)
    await run(client.create(resource, named('b')))
    const listed = await run(client.list(resource, { namespace, labelSelector: 'special=yes' }))
    assert.deepEqual(
      listed.items.map(each => each.metadata.name),
      ['a', 'b'],
    )

    const annotate = (by: string): object => ({ metadata: { annotations: { by } } })
    const patched = await run(client.patch(resource, at, { type: 'merge', patch: annotate('patch') }))
    assert.equal(patched.metadata.annotations?.['by'], 'patch')
    const metadata = { ...patched.metadata, annotations: { by: 'update' } }
    const updated = await run(client.update(resource, { ...patched, metadata }))
    assert.equal(updated.metadata.annotations?.['by'], 'update')
    await assert.rejects(run(client.update(resource, patched)), error => isApiError(error, 'Conflict'))
    const applied = { ...named('a'), metadata: { ...named('a').metadata, annotations: { applied: 'yes' } } }
    const after = await run(client.apply(resource, applied, { fieldManager: 'test', force: true }))
    assert.deepEqual(after.metadata.annotations, { by: 'update', applied: 'yes' })

    await run(client.delete(resource, at))
    await assert.rejects(run(client.get(resource, at)), error => isApiError(error, 'NotFound'))
    await run(client.deleteCollection(resource, { namespace, labelSelector: 'special=yes' }))
    assert.deepEqual((await run(client.list(resource, { namespace }))).items, [])
    await run(following)
    watching.abort()
    const modified = ['MODIFIED a', 'MODIFIED a', 'MODIFIED a']
    assert.deepEqual(watched, ['ADDED b', ...modified, 'DELETED a'])
  })
}
