import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import type { CertificateRotation, KeyAndCertificate } from './certificate-rotation.ts'
import {
  bootstrapClientCertificate,
  clientCertificateRotation,
  servingCertificateRotation,
} from './tls-bootstrap.ts'
import { makeTestNode, startTestTlsCluster, type TestNode, type TestTlsCluster } from './test-tls-cluster.ts'

const dayMs = 24 * 3_600_000

interface Running {
  readonly rotated: KeyAndCertificate[]
  readonly failures: string[]
}

/** Runs the rotation until the test ends. */
function start(
  t: Pick<TestContext, 'after'>,
  cluster: TestTlsCluster,
  { rotation, current }: { readonly rotation: CertificateRotation; readonly current: KeyAndCertificate },
): Running {
  const stopping = new AbortController()
  const rotated: KeyAndCertificate[] = []
  const failures: string[] = []
  const running = rotation.run(
    {
      current,
      onRotated: next => void rotated.push(next),
      onFailure: error => void failures.push(String(error)),
    },
    stopping.signal,
  )
  t.after(async () => {
    stopping.abort()
    await cluster.run(running)
  })
  return { rotated, failures }
}

async function bootstrapped(cluster: TestTlsCluster, node: TestNode): Promise<Client> {
  const settings = await cluster.run(bootstrapClientCertificate(node.options, never()))
  const { platform, connect } = node.options
  const transport = await openConnection({ platform, connect, settings })
  return clientOf({ platform, transport, userAgent: 'kubelet' })
}

function never(): AbortSignal {
  return new AbortController().signal
}

async function createNode(cluster: TestTlsCluster, addresses: readonly string[]): Promise<void> {
  await cluster.plane.create(nodes, { metadata: { name: 'n1' } })
  await setAddresses(cluster, addresses)
}

async function setAddresses(cluster: TestTlsCluster, addresses: readonly string[]): Promise<void> {
  await cluster.plane.changeStatus(nodes, 'n1', node => ({
    ...node,
    status: { ...node.status, addresses: addresses.map(address => ({ type: 'InternalIP', address })) },
  }))
}

function namesIn({ cert }: KeyAndCertificate): string | undefined {
  return new X509Certificate(cert).subjectAltName
}

test('a client certificate is rotated between 70 and 90 % of its lifetime, and then used', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const client = await bootstrapped(cluster, node)
  const rotation = clientCertificateRotation({ ...node.options, client })
  const current = await cluster.run(rotation.ensure(never()))
  const { rotated, failures } = start(t, cluster, { rotation, current })
  node.host.jumpClock(0.69 * 365 * dayMs)
  await cluster.advance(60_000)
  assert.equal(rotated.length, 0, 'too early')
  node.host.jumpClock(0.21 * 365 * dayMs)
  // The control plane has the same time, otherwise the issued certificate would be of the past.
  cluster.plane.simulation.host('control-plane').jumpClock(0.9 * 365 * dayMs)
  await cluster.advance(30_000)
  assert.equal(rotated.length, 1, failures.join())
  assert.notEqual(rotated[0]!.key, current.key)
  const users = (await cluster.plane.list(certificateSigningRequests)).map(({ spec }) => spec.username)
  assert.deepEqual(
    users.toSorted((a = '', b = '') => a.localeCompare(b)),
    ['system:bootstrap:abcdef', 'system:node:n1'],
  )
  // The old one expires, and the connection has moved to the new one.
  for (const name of ['control-plane', node.host.name])
    cluster.plane.simulation.host(name).jumpClock(0.15 * 365 * dayMs)
  await cluster.advance(90_000)
  await cluster.run(client.list(certificateSigningRequests))
  assert.deepEqual(failures, [])
})

test('after the client certificate has expired, the bootstrap token gets another one', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const client = await bootstrapped(cluster, node)
  const rotation = clientCertificateRotation({ ...node.options, client })
  const current = await cluster.run(rotation.ensure(never()))
  for (const name of ['control-plane', node.host.name])
    cluster.plane.simulation.host(name).jumpClock(2 * 365 * dayMs)
  const next = await cluster.run(rotation.ensure(never()))
  assert.notEqual(next.cert, current.cert)
  const users = (await cluster.plane.list(certificateSigningRequests)).map(({ spec }) => spec.username)
  assert.ok(
    users.every(user => user === 'system:bootstrap:abcdef'),
    users.join(),
  )
  await cluster.advance(61_000)
  await cluster.run(client.list(certificateSigningRequests))
})

test('a serving certificate is for the names of the node, and is replaced when they change', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const client = await bootstrapped(cluster, node)
  let names = ['n1', '192.0.2.1']
  const rotation = servingCertificateRotation({ ...node.options, client, names: () => names })
  const first = rotation.ensure(never())
  await cluster.advance(5_000)
  assert.deepEqual(await pendingReasons(cluster), ['Not approved automatically: Node n1 does not exist'])
  // The kubelet registers the node while the request is pending.
  await createNode(cluster, names.slice(1))
  const current = await cluster.run(first)
  assert.equal(namesIn(current), 'IP Address:192.0.2.1, DNS:n1')
  assert.deepEqual(new X509Certificate(current.cert).keyUsage, ['1.3.6.1.5.5.7.3.1'])
  const { rotated, failures } = start(t, cluster, { rotation, current })
  names = ['n1', '192.0.2.2', 'fd00::2']
  await cluster.advance(15_000)
  assert.equal(rotated.length, 0, 'the status of the Node has the old address')
  await setAddresses(cluster, names.slice(1))
  await cluster.advance(15_000)
  assert.equal(rotated.length, 1, failures.join())
  assert.match(namesIn(rotated[0]!) ?? '', /192\.0\.2\.2/)
  assert.match(namesIn(rotated[0]!) ?? '', /FD00:0:0:0:0:0:0:2/)
})

async function pendingReasons({ plane }: TestTlsCluster): Promise<readonly string[]> {
  const { items } = await plane.run(plane.client.list(events))
  return items.map(({ message = '' }) => message)
}

test('a request for names that the node no longer has is given up', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const client = await bootstrapped(cluster, node)
  await createNode(cluster, ['192.0.2.1'])
  let names = ['n1', '198.51.100.7']
  const rotation = servingCertificateRotation({ ...node.options, client, names: () => names })
  const pending = rotation.ensure(never())
  const rejected = assert.rejects(pending, /the names of the node have changed/)
  await cluster.advance(60_000)
  names = ['n1', '192.0.2.1']
  await cluster.run(rejected)
  assert.equal(namesIn(await cluster.run(rotation.ensure(never()))), 'IP Address:192.0.2.1, DNS:n1')
})
