import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { kernelHostname, podHostname } from './pod-hostname.ts'
import { kubeletPod } from './testdata/objects.ts'

function podOf(spec: Partial<PodSpec>, name = 'web'): KubeletPod {
  return kubeletPod({ metadata: { name, namespace: 'shop' }, spec: { containers: [], ...spec } })
}

/** `hostname domain kernel`. */
function names(spec: Partial<PodSpec>, name?: string): string {
  const pod = podOf(spec, name)
  const found = podHostname(pod, 'cluster.local')
  return `${found.hostname} ${found.domain || '-'} ${kernelHostname(pod, found)}`
}

test('the hostname is derived from name, hostname and subdomain', () => {
  const inside = 'in.shop.svc.cluster.local'
  assert.equal(names({}), 'web - web')
  assert.equal(names({ hostname: 'front' }), 'front - front')
  assert.equal(names({ subdomain: 'in' }), `web ${inside} web`)
  assert.equal(names({ subdomain: 'in', setHostnameAsFQDN: true }), `web ${inside} web.${inside}`)
  assert.equal(names({ setHostnameAsFQDN: true }), 'web - web')
  assert.equal(names({ hostnameOverride: 'a.b.example', subdomain: 'in' }), 'a.b.example - a.b.example')
})

test('long hostnames are truncated to valid names', () => {
  const cut = 'x'.repeat(62)
  assert.equal(names({}, `${cut}-.tail`), `${cut} - ${cut}`)
  assert.equal(names({}, 'y'.repeat(70)), `${'y'.repeat(63)} - ${'y'.repeat(63)}`)
})

test('an invalid hostname is rejected', () => {
  const check = (spec: Partial<PodSpec>, message: RegExp): void =>
    assert.throws(() => names(spec), { message })
  check({ hostname: 'A_B' }, /^pod Hostname "A_B" is not a valid DNS label: /)
  check({ subdomain: 'a.b' }, /^pod Subdomain "a.b" is not a valid DNS label: /)
  check({ hostnameOverride: '-' }, /^pod HostnameOverride "-" is not a valid DNS subdomain: /)
  const long = { subdomain: 'x'.repeat(40), setHostnameAsFQDN: true }
  check(long, /^failed to construct FQDN from pod hostname and cluster domain, FQDN web\.x+\.shop/)
  check(long, / is too long \(64 characters is the max, 67 characters requested\)$/)
})
