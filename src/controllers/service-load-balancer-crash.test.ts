import assert from 'node:assert/strict'
import { test } from 'node:test'
import { services } from '#/api/generated/core/v1-resources.ts'
import { addressPools } from './address-pools.ts'
import { serviceLoadBalancerController } from './service-load-balancer.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { crashingController } from './test-crashes.ts'

const namespace = 'default'

test('after a crash at any write, no address is allocated twice or leaked', async t => {
  const pool = serviceLoadBalancerController({ createLoadBalancer: addressPools(['192.0.2.1-192.0.2.3']) })
  for (let writes = 1; ; writes++) {
    const { controller, hasCrashed } = crashingController(pool, writes)
    const plane = await startTestControlPlane(t, [controller])
    const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] }
    const make = (name: string) => plane.client.create(services, { metadata: { namespace, name }, spec })
    await plane.run(Promise.all(['a', 'b', 'c'].map(make)))
    await plane.advance(20_000)
    const held = async (): Promise<readonly string[]> => {
      const all = await plane.list(services, namespace)
      return all.flatMap(({ status }) => status?.loadBalancer?.ingress?.map(({ ip = '' }) => ip) ?? []).sort()
    }
    const about = `after ${writes} writes`
    assert.deepEqual(await held(), ['192.0.2.1', '192.0.2.2', '192.0.2.3'], about)
    await plane.change(services, 'default/a', each => ({ ...each, spec: { ...each.spec, type: 'NodePort' } }))
    await plane.run(plane.client.delete(services, { namespace, name: 'b' }))
    await plane.run(Promise.all(['d', 'e'].map(make)))
    await plane.advance(60_000)
    assert.deepEqual(await held(), ['192.0.2.1', '192.0.2.2', '192.0.2.3'], about)
    const left = (await plane.list(services, namespace)).flatMap(({ metadata }) => {
      return metadata.finalizers?.length ? [metadata.name] : []
    })
    assert.deepEqual(left.sort(), ['c', 'd', 'e'], about)
    if (!hasCrashed()) return assert.ok(writes > 8)
  }
})
