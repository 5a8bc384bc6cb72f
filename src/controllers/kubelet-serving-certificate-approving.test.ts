import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import { ensureRoleBindings } from '#/kubeadm/role-bindings.ts'
import type { CertificateRequest } from './certificates/certificate-request.ts'
import {
  kubeletServingCertificateApprovingController,
  servingRequestRefusal,
} from './kubelet-serving-certificate-approving.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { testRequest } from './test-certificate-requests.ts'

const signerName = 'kubernetes.io/kubelet-serving'
const usages = ['digital signature', 'server auth']

function nodeWith(...addresses: readonly string[]): Node {
  return {
    metadata: { name: 'n1' },
    status: { addresses: addresses.map(address => ({ type: 'InternalIP', address })) },
  }
}

test('only names of the node that makes the request are approved', () => {
  const check = (
    change: {
      readonly names?: Partial<CertificateRequest['names']>
      readonly commonName?: string
      readonly spec?: Partial<CertificateSigningRequest['spec']>
      readonly node?: Node | undefined
    },
    expected: string | undefined,
  ): void => {
    const { names, commonName = 'system:node:n1', spec } = change
    const request = {
      metadata: {},
      spec: {
        request: '',
        signerName,
        usages,
        username: 'system:node:n1',
        groups: ['system:nodes'],
        ...spec,
      },
    }
    const wanted = {
      commonName,
      organizations: ['system:nodes'],
      names: { dns: [], email: [], ip: ['192.0.2.1'], uri: [], ...names },
    }
    const node = 'node' in change ? change.node : nodeWith('192.0.2.1', 'fd00::1', 'n1.example.com')
    assert.equal(servingRequestRefusal(request, wanted, node), expected)
  }
  check({}, undefined)
  check({ names: { dns: ['n1', 'N1.example.com'], ip: ['FD00:0:0:0:0:0:0:1', '192.0.2.1'] } }, undefined)
  check({ names: { ip: ['192.0.2.1', '192.0.2.2'] } }, '192.0.2.2 is not an address of Node n1')
  check({ names: { dns: ['kubernetes'] } }, 'kubernetes is not an address of Node n1')
  check({ names: { email: ['a@b'] } }, 'Email subjectAltNames are not allowed')
  check({ names: { uri: ['spiffe://n1'] } }, 'URI subjectAltNames are not allowed')
  check({ names: { ip: [] } }, 'DNS or IP subjectAltName is required')
  check({ node: undefined }, 'Node n1 does not exist')
  check(
    { commonName: 'system:node:n2' },
    'subject common name system:node:n2 is not the requester system:node:n1',
  )
  check({ spec: { username: 'jane' } }, 'requester jane is not a node')
  check({ spec: { groups: ['system:authenticated'] } }, 'requester system:node:n1 is not a node')
  const mismatch = 'usages did not match [digital signature key encipherment server auth]'
  check({ spec: { usages: [...usages, 'client auth'] } }, mismatch)
})

async function conditionsIn(plane: TestControlPlane): Promise<readonly string[]> {
  const [request] = await plane.list(certificateSigningRequests)
  return (request?.status?.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`)
}

test('a request waits for the addresses of the Node, and is never denied', async t => {
  const plane = await startTestControlPlane(t, [kubeletServingCertificateApprovingController])
  await plane.run(ensureRoleBindings(plane.client, plane.platform.log))
  const request = await testRequest({
    commonName: 'system:node:n1',
    organizations: ['system:nodes'],
    names: [
      { type: 'dns', value: 'n1' },
      { type: 'ip', value: '192.0.2.7' },
    ],
  })
  const kubelet = plane.clientAs('system:node:n1', ['system:nodes'])
  const spec = { request, signerName, usages }
  await plane.run(kubelet.create(certificateSigningRequests, { metadata: { name: 'csr' }, spec }))
  await plane.advance(60_000)
  assert.deepEqual(await conditionsIn(plane), [])
  await plane.create(nodes, nodeWith())
  const setAddress = (address: string): Promise<unknown> => {
    return plane.changeStatus(nodes, 'n1', node => ({ ...node, status: nodeWith(address).status! }))
  }
  await setAddress('192.0.2.8')
  await plane.advance(60_000)
  assert.deepEqual(await conditionsIn(plane), [])
  await setAddress('192.0.2.7')
  assert.deepEqual(await conditionsIn(plane), ['Approved AutoApproved'])
  const messages = (await plane.list(events)).map(({ reason, message }) => `${reason}: ${message}`)
  assert.deepEqual(messages.sort(), [
    'ServingCertificateNotApproved: Not approved automatically: 192.0.2.7 is not an address of Node n1',
    'ServingCertificateNotApproved: Not approved automatically: Node n1 does not exist',
  ])
})
