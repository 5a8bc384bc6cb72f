import assert from 'node:assert/strict'
import test from 'node:test'
import { configMaps, events, secrets, services } from '#/api/generated/core/v1-resources.ts'
import { roles } from '#/api/generated/rbac/v1-resources.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { dnsServer, userOf } from '#/kubeadm/identities.ts'
import { dnsService, ensureDnsRbac, ensureDnsService, upgradeDnsRights } from './ensure-dns.ts'

test('the DNS server may read its ConfigMap, but no other one, and no secrets', async t => {
  const { client, clientAs, run } = await startTestControlPlane(t, [])
  await run(ensureDnsRbac(client))
  const { username, groups } = userOf(dnsServer)
  const own = clientAs(username, groups)
  const namespace = dnsService.namespace
  const check = async (request: Promise<unknown>): Promise<string> =>
    run(
      request.then(
        () => 'allowed',
        (error: Error & { readonly reason?: string }) => error.reason ?? error.message,
      ),
    )
  const only = (name: string): { readonly namespace: string; readonly fieldSelector: string } => {
    return { namespace, fieldSelector: `metadata.name=${name}` }
  }
  assert.equal(await check(own.list(configMaps, only('coredns'))), 'allowed')
  assert.equal(await check(own.list(services)), 'allowed')
  assert.equal(await check(own.list(configMaps, only('other'))), 'Forbidden')
  assert.equal(await check(own.list(configMaps, { namespace })), 'Forbidden')
  assert.equal(await check(own.list(secrets, { namespace })), 'Forbidden')
  assert.equal(await check(own.list(events, { namespace })), 'Forbidden')
})

test('an upgrade grants the rights of DNS servers, unless the service has a selector', async t => {
  const { client, run, list } = await startTestControlPlane(t, [])
  const names = async (): Promise<readonly string[]> => {
    return (await list(roles, dnsService.namespace))
      .map(({ metadata }) => metadata.name)
      .filter(name => /dns/.test(name))
  }
  await run(upgradeDnsRights(client))
  assert.deepEqual(await names(), [])
  const service = (await run(ensureDnsService(client, '10.96.0.10')))!
  const spec = { ...service.spec, selector: { 'k8s-app': 'kube-dns' } }
  const foreign = await run(client.update(services, { ...service, spec }))
  await run(upgradeDnsRights(client))
  assert.deepEqual(await names(), [])
  await run(client.update(services, { ...service, metadata: foreign.metadata }))
  await run(upgradeDnsRights(client))
  assert.deepEqual(await names(), ['k8ts:dns-configuration', 'k8ts:dns-endpoints'])
})
