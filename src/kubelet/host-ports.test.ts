import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerPort, PodSpec } from '#/api/generated/core/v1.ts'
import { hostPortsOf } from './host-ports.ts'

/** `8080>80/TCP`. */
function mappings(ports: readonly ContainerPort[], spec: Partial<PodSpec> = {}): string {
  const found = hostPortsOf({ metadata: {}, spec: { containers: [{ name: 'c', ports }], ...spec } })
  return found
    .map(
      ({ hostIp, hostPort, containerPort, protocol }) =>
        `${hostIp}${hostIp && ':'}${hostPort}>${containerPort}/${protocol}`,
    )
    .join(' ')
}

test('host ports are mapped to container ports', () => {
  const dns = { containerPort: 53, hostPort: 53 }
  assert.equal(mappings([{ containerPort: 80 }]), '')
  assert.equal(mappings([{ containerPort: 80, hostPort: 8080 }]), '8080>80/TCP')
  assert.equal(mappings([dns, { ...dns, protocol: 'UDP' }]), '53>53/TCP 53>53/UDP')
  assert.equal(mappings([dns, dns]), '53>53/TCP')
  assert.equal(
    mappings([
      { ...dns, hostIP: '1.2.3.4' },
      { ...dns, hostIP: 'fd00::1' },
    ]),
    '1.2.3.4:53>53/TCP fd00::1:53>53/TCP',
  )
  assert.equal(mappings([{ ...dns, protocol: 'ICMP' }]), '')
  assert.equal(mappings([dns], { hostNetwork: true }), '')
})
