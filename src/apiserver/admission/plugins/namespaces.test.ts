import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namespaceAutoProvision } from './namespace-auto-provision.ts'
import { namespaceExists } from './namespace-exists.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { configMap, namespace, outcome, startWith } from '../testdata/plugin-server.ts'

const mapsIn = (name: string): string => `/api/v1/namespaces/${name}/configmaps`

test('NamespaceLifecycle: rejects creation in a missing namespace', async t => {
  const { create, request, given } = await startWith(t, namespaceLifecycle)
  assert.equal(await create(mapsIn('x'), configMap('a')), '404 namespaces "x" not found')
  const missing = await request('POST', mapsIn('x'), configMap('a'))
  assert.deepEqual(
    [missing.body.reason, missing.body.details],
    ['NotFound', { name: 'x', kind: 'namespaces' }],
  )
  assert.equal(await create(mapsIn('default'), configMap('a')), 'ok')
  await given('/api/v1/namespaces', namespace('x'))
  assert.equal(await create(mapsIn('x'), configMap('a')), 'ok')
})

test('NamespaceLifecycle: a namespace not yet in the cache is read from the store', async t => {
  const { create } = await startWith(t, namespaceLifecycle)
  for (let count = 0; count < 20; count++) {
    assert.equal(await create('/api/v1/namespaces', namespace(`n${count}`)), 'ok')
    assert.equal(await create(mapsIn(`n${count}`), configMap('a')), 'ok')
  }
})

test('NamespaceLifecycle: a terminating namespace rejects creation and allows deletion', async t => {
  const { create, request, patch, given } = await startWith(t, namespaceLifecycle)
  await given('/api/v1/namespaces', namespace('x'))
  assert.equal(await create(mapsIn('x'), configMap('a')), 'ok')
  assert.equal((await request('DELETE', '/api/v1/namespaces/x')).code, 200)
  // Rejected immediately, even if the cache has not yet received the deletion.
  const refused = await request('POST', mapsIn('x'), configMap('b'))
  assert.equal(
    outcome(refused),
    '403 configmaps "b" is forbidden: unable to create new content in namespace x because it is being terminated',
  )
  assert.deepEqual(refused.body.details?.causes, [
    {
      reason: 'NamespaceTerminating',
      message: 'namespace x is being terminated',
      field: 'metadata.namespace',
    },
  ])
  assert.equal(await patch(`${mapsIn('x')}/a`, { data: { k: 'v' } }), 'ok')
  assert.equal(outcome(await request('DELETE', `${mapsIn('x')}/a`)), 'ok')
})

test('NamespaceLifecycle: system namespaces cannot be deleted', async t => {
  const { request } = await startWith(t, namespaceLifecycle)
  for (const name of ['default', 'kube-system', 'kube-public']) {
    const answer = await request('DELETE', `/api/v1/namespaces/${name}`)
    assert.equal(outcome(answer), `403 namespaces "${name}" is forbidden: this namespace may not be deleted`)
  }
  assert.equal(outcome(await request('DELETE', '/api/v1/namespaces/kube-node-lease')), 'ok')
})

test('NamespaceLifecycle: ignores cluster-scoped objects', async t => {
  const { create } = await startWith(t, namespaceLifecycle)
  assert.equal(
    await create('/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: 'n' } }),
    'ok',
  )
})

test('NamespaceExists: rejects writes and deletions in a missing namespace', async t => {
  const { create, request } = await startWith(t, namespaceExists)
  assert.equal(await create(mapsIn('x'), configMap('a')), '404 namespaces "x" not found')
  assert.equal(await create(mapsIn('default'), configMap('a')), 'ok')
  assert.equal(outcome(await request('DELETE', `${mapsIn('default')}/a`)), 'ok')
})

test('NamespaceAutoProvision: creates the namespace of a new object, except for dry run', async t => {
  const { create, request } = await startWith(t, [namespaceAutoProvision, namespaceLifecycle])
  assert.equal(await create(`${mapsIn('dry')}?dryRun=All`, configMap('a')), '404 namespaces "dry" not found')
  const results = await Promise.all(['a', 'b', 'c'].map(name => create(mapsIn('x'), configMap(name))))
  assert.deepEqual(results, ['ok', 'ok', 'ok'])
  const { body } = await request('GET', '/api/v1/namespaces/x')
  assert.deepEqual(body['metadata']['labels'], { 'kubernetes.io/metadata.name': 'x' })
})
