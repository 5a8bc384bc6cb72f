import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { ensureTlsBootstrapRoleBindings } from '#/kubeadm/role-bindings.ts'
import type { CertificateRequest } from './certificates/certificate-request.ts'
import {
  kubeProxyCertificateApprovingController,
  proxyRequestRefusal,
} from './kube-proxy-certificate-approving.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { testRequest } from './test-certificate-requests.ts'

const signerName = 'kubernetes.io/kube-apiserver-client'
const usages = ['digital signature', 'client auth']

test('only nodes get certificates of the service proxy, and only with its identity', () => {
  const check = (
    change: Partial<CertificateRequest> & {
      readonly username?: string
      readonly groups?: string[]
      readonly usages?: string[]
    },
    expected: string | undefined,
  ): void => {
    const { username = 'system:node:n1', groups = ['system:nodes'], ...wanted } = change
    const spec = { request: '', signerName, usages, username, groups, ...wanted }
    const request = {
      commonName: 'system:kube-proxy',
      organizations: [],
      names: { dns: [], email: [], ip: [], uri: [] },
      ...wanted,
    }
    assert.equal(proxyRequestRefusal({ metadata: {}, spec }, request), expected)
  }
  check({}, undefined)
  check({ usages: [...usages, 'key encipherment'] }, undefined)
  check({ commonName: 'kubernetes-admin' }, 'subject common name is not system:kube-proxy')
  check({ organizations: ['system:masters'] }, 'subject organizations are not allowed')
  check({ names: { dns: ['a'], email: [], ip: [], uri: [] } }, 'DNS subjectAltNames are not allowed')
  check({ usages: ['server auth'] }, 'usages did not match [client auth digital signature key encipherment]')
  check({ username: 'jane' }, 'requester jane is not a node')
  check({ groups: [] }, 'requester system:node:n1 is not a node')
})

test('a request of a node is approved, and that of another user waits', async t => {
  const plane = await startTestControlPlane(t, [kubeProxyCertificateApprovingController])
  await plane.run(ensureTlsBootstrapRoleBindings(plane.client, plane.platform.log))
  const request = await testRequest({ commonName: 'system:kube-proxy' })
  const node = plane.clientAs('system:node:n1', ['system:nodes'])
  const spec = { request, signerName, usages }
  const user = plane.client
  await plane.run(user.create(certificateSigningRequests, { metadata: { name: 'of-user' }, spec }))
  await plane.run(node.create(certificateSigningRequests, { metadata: { name: 'of-node' }, spec }))
  await plane.advance(1_000)
  const all = await plane.list(certificateSigningRequests)
  const types = Object.fromEntries(
    all.map(({ metadata, status }) => [metadata.name, status?.conditions?.map(({ type }) => type) ?? []]),
  )
  assert.deepEqual(types, { 'of-node': ['Approved'], 'of-user': [] })
})
