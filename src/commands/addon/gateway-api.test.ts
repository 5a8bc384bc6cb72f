import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { customResource, type KubernetesObject } from '#/custom-resource/custom-resource.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { gatewayApiDefinitions } from '#/gateway/gateway-api.ts'
import { gatewayApi } from './gateway-api.ts'

const at = { group: 'gateway.networking.k8s.io', version: 'v1' } as const

const gateways = customResource<KubernetesObject>({
  ...at,
  kind: 'Gateway',
  plural: 'gateways',
  scope: 'Namespaced',
})

const gatewayClasses = customResource<
  KubernetesObject & { readonly spec: { readonly controllerName: string } }
>({
  ...at,
  kind: 'GatewayClass',
  plural: 'gatewayclasses',
  scope: 'Cluster',
})

const gateway = {
  metadata: { namespace: 'default', name: 'gw' },
  spec: { gatewayClassName: 'k8ts', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
}

test('the addon installs the definitions and the class, again without effect, and removes them', async t => {
  const { client, platform, run, settle, list } = await startTestControlPlane(t, [])
  const target = { client, platform }
  assert.equal(await run(gatewayApi.isEnabled(target)), false)
  assert.equal(await run(gatewayApi.enable(target)), 'GatewayClass k8ts is ready')
  assert.equal(await run(gatewayApi.isEnabled(target)), true)
  const [before] = await list(customResourceDefinitions)
  await run(gatewayApi.enable(target))
  const [after] = await list(customResourceDefinitions)
  assert.equal(after?.metadata.resourceVersion, before?.metadata.resourceVersion)
  const [found] = await list(gatewayClasses)
  assert.equal(found?.spec.controllerName, 'k8ts.io/gateway-controller')
  await run(gatewayApi.disable(target, { force: false }))
  await settle()
  assert.equal((await list(customResourceDefinitions)).length, 0)
  assert.equal(await run(gatewayApi.isEnabled(target)), false)
})

test('an addon in use is removed with --force only', async t => {
  const { client, platform, run, settle, list } = await startTestControlPlane(t, [])
  const target = { client, platform }
  await run(gatewayApi.enable(target))
  await run(client.create(gateways, gateway))
  await assert.rejects(run(gatewayApi.disable(target, { force: false })), /in use: 1 Gateway;/)
  assert.equal((await list(customResourceDefinitions)).length, gatewayApiDefinitions.length)
  await run(gatewayApi.disable(target, { force: true }))
  await settle()
  assert.equal((await list(customResourceDefinitions)).length, 0)
})

test('definitions that others have installed are used, not changed and not removed', async t => {
  const { client, platform, run, settle, list } = await startTestControlPlane(t, [])
  const target = { client, platform }
  for (const definition of gatewayApiDefinitions) {
    const annotations = {
      ...definition.metadata.annotations,
      'gateway.networking.k8s.io/bundle-version': 'v1.4.0',
    }
    const foreign = { ...definition, metadata: { ...definition.metadata, annotations } }
    await run(client.create(customResourceDefinitions, foreign))
  }
  await settle()
  await run(gatewayApi.enable(target))
  await run(gatewayApi.disable(target, { force: false }))
  await settle()
  const kept = await list(customResourceDefinitions)
  assert.equal(kept.length, gatewayApiDefinitions.length)
  for (const { metadata } of kept)
    assert.equal(metadata.annotations?.['gateway.networking.k8s.io/bundle-version'], 'v1.4.0')
})
