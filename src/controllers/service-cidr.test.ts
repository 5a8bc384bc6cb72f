import assert from 'node:assert/strict'
import { test } from 'node:test'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { IPAddress, ServiceCIDR } from '#/api/generated/networking/v1.ts'
import { serviceCIDRs } from '#/api/generated/networking/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { serviceCidrController, canDeleteCidr } from './service-cidr.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { stored } from './test-stored.ts'

const namespace = 'default'
const finalizer = 'networking.k8s.io/service-cidr-finalizer'

async function find(plane: TestControlPlane, name: string): Promise<ServiceCIDR | undefined> {
  return (await plane.list(serviceCIDRs)).find(({ metadata }) => metadata.name === name)
}

test('a ServiceCIDR is ready and protected until none of its addresses is in use', async t => {
  const plane = await startTestControlPlane(t, [serviceCidrController])
  await plane.create(serviceCIDRs, { metadata: { name: 'more' }, spec: { cidrs: ['10.200.0.0/24'] } })
  for (const name of ['kubernetes', 'more']) {
    const range = await find(plane, name)
    assert.deepEqual(range?.metadata.finalizers, [finalizer])
    const { type, status, message } = range?.status?.conditions?.[0] ?? {}
    assert.deepEqual([type, status, message], ['Ready', 'True', 'Kubernetes Service CIDR is ready'])
  }
  const spec = { clusterIP: '10.200.0.9', ports: [{ port: 80 }] }
  await plane.create(services, { metadata: { namespace, name: 'web' }, spec })
  await plane.run(plane.client.delete(serviceCIDRs, { name: 'more' }))
  await plane.advance(20_000)
  const held = (await find(plane, 'more'))?.status?.conditions?.[0]
  assert.deepEqual([held?.status, held?.reason], ['False', 'Terminating'])
  const version = (await find(plane, 'more'))?.metadata.resourceVersion
  await plane.advance(600_000)
  assert.equal((await find(plane, 'more'))?.metadata.resourceVersion, version)
  await plane.run(plane.client.delete(services, { namespace, name: 'web' }))
  await plane.settle()
  assert.equal(await find(plane, 'more'), undefined)
})

test('an unused ServiceCIDR is deleted after a grace period', async t => {
  const plane = await startTestControlPlane(t, [serviceCidrController])
  await plane.create(serviceCIDRs, { metadata: { name: 'more' }, spec: { cidrs: ['10.200.0.0/24'] } })
  await plane.run(plane.client.delete(serviceCIDRs, { name: 'more' }))
  await plane.advance(5_000)
  assert.notEqual(await find(plane, 'more'), undefined)
  await plane.advance(6_000)
  assert.equal(await find(plane, 'more'), undefined)
})

test('a ServiceCIDR can be deleted if other ranges cover all addresses in use', () => {
  const rangeOf = (name: string, cidrs: string): ServiceCIDR => ({
    metadata: { name },
    spec: { cidrs: cidrs.split(' ') },
  })
  const addressOf = (name: string, managedBy = 'ipallocator.k8s.io'): Stored<IPAddress> =>
    stored({
      metadata: { name, labels: { 'ipaddress.kubernetes.io/managed-by': managedBy } },
      spec: { parentRef: { group: '', resource: 'services', namespace, name: 'web' } },
    })
  const check = (
    ranges: readonly string[],
    addresses: readonly Stored<IPAddress>[],
    expected: boolean,
  ): void => {
    const all = ranges.map((cidrs, index) => rangeOf(`r${index}`, cidrs))
    assert.equal(canDeleteCidr(all[0]!, all, addresses), expected, ranges.join(' | '))
  }
  check(['10.0.0.0/24'], [], true)
  check(['10.0.0.0/24'], [addressOf('10.0.0.7')], false)
  check(['10.0.0.0/24'], [addressOf('10.0.1.7'), addressOf('10.0.0.7', 'other')], true)
  check(['10.0.0.0/24', '10.0.0.0/16'], [addressOf('10.0.0.7')], true)
  check(['10.0.0.0/24', '10.0.0.0/28'], [addressOf('10.0.0.7')], true)
  check(['10.0.0.0/24', '10.0.0.0/28'], [addressOf('10.0.0.7'), addressOf('10.0.0.77')], false)
  // The broadcast address of the smaller range is not part of it.
  check(['10.0.0.0/24', '10.0.0.0/28'], [addressOf('10.0.0.15')], false)
  check(['10.0.0.0/24 fd00::/112', '10.0.0.0/16'], [addressOf('fd00::7')], false)
})
