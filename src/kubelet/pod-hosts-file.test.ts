import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import { hasHostsFile, hostsFileOf } from './pod-hosts-file.ts'

function hosts(spec: Partial<PodSpec>, domain = ''): string {
  const pod = { metadata: { name: 'web' }, spec: { containers: [], ...spec } }
  const addresses = ['10.244.1.5', 'fd00::5']
  return hostsFileOf({
    pod,
    addresses,
    name: { hostname: 'web', domain },
    nodeHosts: '127.0.0.1\tlocalhost\n',
  })
}

const fixed = `# Kubernetes-managed hosts file.
127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
fe00::0	ip6-mcastprefix
fe00::1	ip6-allnodes
fe00::2	ip6-allrouters
`
const hostAliases = [
  { ip: '1.2.3.4', hostnames: ['a', 'b.c'] },
  { ip: '5.6.7.8', hostnames: ['d'] },
]
const aliases = '\n# Entries added by HostAliases.\n1.2.3.4\ta\tb.c\n5.6.7.8\td\n'

test('/etc/hosts has the addresses of the pod and its host aliases', () => {
  assert.equal(hosts({}), `${fixed}10.244.1.5\tweb\nfd00::5\tweb\n`)
  assert.equal(
    hosts({}, 'in.shop.svc.x'),
    `${fixed}10.244.1.5\tweb.in.shop.svc.x\tweb\nfd00::5\tweb.in.shop.svc.x\tweb\n`,
  )
  assert.equal(hosts({ hostAliases }), `${fixed}10.244.1.5\tweb\nfd00::5\tweb\n${aliases}`)
})

test('a pod with the host network gets the /etc/hosts of the node', () => {
  const header = '# Kubernetes-managed hosts file (host network).\n127.0.0.1\tlocalhost\n'
  assert.equal(hosts({ hostNetwork: true }), header)
  assert.equal(hosts({ hostNetwork: true, hostAliases }), header + aliases)
})

test('/etc/hosts is mounted unless the container mounts its own or the pod has no address', () => {
  const pod = { metadata: {}, spec: { containers: [] } }
  assert.equal(hasHostsFile(pod, { name: 'c' }, ['1.1.1.1']), true)
  assert.equal(hasHostsFile(pod, { name: 'c' }, []), false)
  assert.equal(
    hasHostsFile({ metadata: {}, spec: { containers: [], hostNetwork: true } }, { name: 'c' }, []),
    true,
  )
  const volumeMounts = [{ name: 'v', mountPath: '/etc/hosts' }]
  assert.equal(hasHostsFile(pod, { name: 'c', volumeMounts }, ['1.1.1.1']), false)
})
