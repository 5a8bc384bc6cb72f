import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { part, startTestServer, type TestServer } from '../test-server.ts'

const deployment = '/apis/apps/v1/namespaces/default/deployments/web'

test('the scale subresource reads and changes only replicas', async t => {
  const { request } = await serverWithDeployment(t)
  const shown = await request('GET', `${deployment}/scale`)
  assert.deepEqual([shown.code, shown.body['kind'], shown.body['spec']], [200, 'Scale', { replicas: 2 }])
  assert.equal(String(part(shown.body, 'status')['selector']), 'app=web')
  const changed = await request('PUT', `${deployment}/scale`, { ...shown.body, spec: { replicas: 5 } })
  assert.deepEqual([changed.code, changed.body['spec']], [200, { replicas: 5 }], changed.text)
  const patched = await request('PATCH', `${deployment}/scale`, { spec: { replicas: 3 } }, merge)
  assert.deepEqual([patched.code, patched.body['spec']], [200, { replicas: 3 }], patched.text)
  assert.equal(Number((await request('GET', deployment)).body['spec']!['replicas']), 3)
})

test('a scale with a stale resourceVersion or a missing object is rejected', async t => {
  const { request } = await serverWithDeployment(t)
  const shown = await request('GET', `${deployment}/scale`)
  await request('PUT', `${deployment}/scale`, { ...shown.body, spec: { replicas: 5 } })
  assert.equal(
    (await request('PUT', `${deployment}/scale`, { ...shown.body, spec: { replicas: 6 } })).code,
    409,
  )
  assert.equal((await request('GET', `${deployment}2/scale`)).code, 404)
  assert.equal(
    (await request('PUT', `${deployment}/scale`, { ...shown.body, metadata: { name: 'other' } })).code,
    400,
  )
})

test('applying a scale sets the ownership of replicas', async t => {
  const { request } = await serverWithDeployment(t)
  const scale = 'apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\nspec: {replicas: 7}'
  const url = `${deployment}/scale?fieldManager=scaler`
  assert.equal((await request('PATCH', url, scale, apply)).code, 409)
  const forced = await request('PATCH', `${url}&force=true`, scale, apply)
  assert.deepEqual([forced.code, forced.body['spec']], [200, { replicas: 7 }], forced.text)
  const managers = (await request('GET', deployment)).body.metadata['managedFields'] as readonly Owner[]
  const scaler = managers.find(each => each.manager === 'scaler')
  assert.deepEqual(
    [scaler?.operation, scaler?.apiVersion, scaler?.fieldsV1],
    ['Apply', 'apps/v1', { 'f:spec': { 'f:replicas': {} } }],
  )
})

interface Owner {
  readonly manager: string
  readonly operation: string
  readonly apiVersion: string
  readonly fieldsV1: unknown
}

const merge = { 'content-type': 'application/merge-patch+json' }
const apply = { 'content-type': 'application/apply-patch+yaml' }

async function serverWithDeployment(t: TestContext): Promise<TestServer> {
  const server = await startTestServer(t)
  const created = await server.request('POST', '/apis/apps/v1/namespaces/default/deployments', {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web' }] },
      },
    },
  })
  assert.equal(created.code, 201, created.text)
  return server
}
