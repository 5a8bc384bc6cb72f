import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Service } from '#/api/generated/core/v1.ts'
import { serviceAddress } from './service-address.ts'

const proxy = 'https://server/api/v1/namespaces/kube-system/services'

test('a service has the address of its load balancer, or else the path of the proxy', () => {
  const check = (
    spec: NonNullable<Service['spec']>,
    status: NonNullable<Service['status']>,
    address: string,
  ) =>
    assert.equal(
      serviceAddress({ metadata: { name: 'dns', namespace: 'kube-system' }, spec, status }, 'https://server'),
      address,
    )
  check({}, {}, `${proxy}/dns/proxy`)
  check({ ports: [{ port: 53 }] }, {}, `${proxy}/dns/proxy`)
  check({ ports: [{ name: 'web', port: 80 }] }, {}, `${proxy}/dns:web/proxy`)
  check({ ports: [{ name: 'web', port: 443 }] }, {}, `${proxy}/https:dns:web/proxy`)
  check({ ports: [{ port: 443 }] }, {}, `${proxy}/https:dns:/proxy`)
  const ports = [{ port: 80 }, { port: 81 }]
  check({ ports }, { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } }, 'http://1.2.3.4:80 http://1.2.3.4:81 ')
  check({ ports }, { loadBalancer: { ingress: [{ hostname: 'x' }] } }, 'http://x:80 http://x:81 ')
})
