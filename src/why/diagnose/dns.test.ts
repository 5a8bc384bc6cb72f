import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodSpec, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { NetworkPolicy } from '#/api/generated/networking/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { nothingRead, type Snapshot } from '../collect/snapshot.ts'
import { diagnoseUnresolvedName } from './dns.ts'
import { findUnresolvedName } from './log-hints.ts'

const meta = { uid: '1', resourceVersion: '1', creationTimestamp: '' }

const dnsService: Stored<Service> = {
  kind: 'Service',
  metadata: { ...meta, namespace: 'kube-system', name: 'kube-dns', labels: { 'k8s-app': 'kube-dns' } },
}

function sliceOf(ready: boolean): Stored<EndpointSlice> {
  const labels = { 'kubernetes.io/service-name': 'kube-dns' }
  return {
    metadata: { ...meta, namespace: 'kube-system', name: 'kube-dns', labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
  }
}

interface Case {
  readonly line: string
  readonly spec?: Partial<PodSpec>
  readonly isDnsReady?: boolean
  /** A policy that admits no egress. */
  readonly isIsolated?: boolean
  readonly services?: readonly string[]
  readonly summary: string
}

function check({
  line,
  spec = {},
  isDnsReady = true,
  isIsolated = false,
  services = [],
  summary,
}: Case): void {
  const metadata = { ...meta, namespace: 'shop', name: 'web' }
  const pod: Stored<Pod> = { kind: 'Pod', metadata, spec: { containers: [], ...spec } }
  const policy: Stored<NetworkPolicy> = {
    kind: 'NetworkPolicy',
    metadata: { ...meta, namespace: 'shop', name: 'closed' },
    spec: { podSelector: {}, policyTypes: ['Egress'] },
  }
  const own = services.map(name => ({ kind: 'Service' as const, metadata: { ...metadata, name } }))
  const snapshot: Snapshot = {
    ...nothingRead,
    nowMs: 0,
    target: pod,
    namespace: 'shop',
    services: [dnsService, ...own],
    endpointSlices: [sliceOf(isDnsReady)],
    policies: isIsolated ? [policy] : [],
  }
  const unresolved = findUnresolvedName([line])
  assert.ok(unresolved)
  assert.equal(
    diagnoseUnresolvedName(snapshot, { pod, container: 'app', unresolved }).summary,
    `Pod shop/web cannot resolve ${summary}.`,
  )
}

const timeout = 'lookup db on 10.96.0.10:53: i/o timeout'
const missing = 'lookup db on 10.96.0.10:53: no such host'

test('a name is not resolved because of the pod, a policy, the DNS servers or the name', () => {
  const node = '"db", since it uses the DNS servers of its node, which do not know names of the cluster'
  check({ line: missing, spec: { dnsPolicy: 'Default' }, summary: `${node} (dnsPolicy Default)` })
  check({
    line: missing,
    spec: { dnsPolicy: 'ClusterFirst', hostNetwork: true },
    summary: `${node} (dnsPolicy ClusterFirst with hostNetwork)`,
  })
  check({
    line: timeout,
    isIsolated: true,
    summary: '"db", since NetworkPolicy closed admits no egress to port 53',
  })
  check({
    line: timeout,
    isDnsReady: false,
    summary: '"db", since the DNS Service kube-system/kube-dns of the cluster has no ready endpoints',
  })
  const noService = '"db", since there is no Service db in namespace shop'
  check({ line: missing, summary: noService })
  // A server that has answered is reached.
  check({ line: missing, isIsolated: true, isDnsReady: false, summary: noService })
  check({ line: missing, services: ['db'], summary: '"db"' })
  check({ line: 'Could not resolve host: example.com', summary: '"example.com"' })
  check({ line: 'Temporary failure in name resolution', summary: 'names' })
})
