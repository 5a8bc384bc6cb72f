import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selfSubjectReviews } from '#/api/generated/authentication/v1-resources.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { certificateApprovingController } from '#/controllers/certificate-approving.ts'
import type { Log } from '#/platform/platform.ts'
import { bootstrapClientCertificate, type TlsBootstrapOptions } from './tls-bootstrap.ts'
import {
  makeTestNode,
  startTestTlsCluster,
  writeKubeconfig,
  type TestNode,
  type TestTlsCluster,
} from './test-tls-cluster.ts'

async function userNameOf(
  cluster: TestTlsCluster,
  node: TestNode,
  settings: ConnectionSettings,
): Promise<string> {
  const { platform, connect } = node.options
  const transport = await openConnection({ platform, connect, settings })
  const client = clientOf({ platform, transport, userAgent: 'kubelet' })
  const review = await cluster.run(client.create(selfSubjectReviews, { metadata: {} }))
  return review.status?.userInfo?.username ?? ''
}

function never(): AbortSignal {
  return new AbortController().signal
}

test('a node gets a client certificate with a bootstrap token, and keeps it', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const settings = await cluster.run(bootstrapClientCertificate(node.options, never()))
  assert.equal(await userNameOf(cluster, node, settings), 'system:node:n1')
  const [request, ...others] = await cluster.plane.list(certificateSigningRequests)
  assert.deepEqual(others, [])
  assert.equal(request?.spec.username, 'system:bootstrap:abcdef')
  assert.deepEqual(request?.spec.usages, ['digital signature', 'client auth'])
  const names = await cluster.run(node.options.platform.files.list('/pki'))
  assert.match(names.join(' '), /^kubelet-client-\d{4}(-\d\d){5}\.pem kubelet-client-current\.pem$/)
  assert.equal(await cluster.run(node.linux.files.readLink('/pki/kubelet-client-current.pem')), names[0])
  await cluster.run(node.options.platform.files.remove('/bootstrap-kubelet.conf'))
  assert.deepEqual(await cluster.run(bootstrapClientCertificate(node.options, never())), settings)
  assert.deepEqual(node.failures, [])
})

/** The platform of a kubelet that is killed: the last operation takes effect without a result, later ones do not. */
function killedAfter(
  options: TlsBootstrapOptions,
  operations: number,
): TlsBootstrapOptions & { isDead(): boolean } {
  let left = operations
  const mortal = <T extends object>(target: T): T => {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...values: readonly unknown[]): unknown => {
          const isLast = left-- === 1
          if (left < 0) return new Promise(() => undefined)
          const result: unknown = Reflect.apply(value, target, values)
          return isLast ? new Promise(() => undefined) : result
        }
      },
    })
  }
  const { platform, linux, connect } = options
  const { clock, random, network, processes, log } = platform
  return {
    ...options,
    platform: { clock, random, network, files: mortal(platform.files), processes, log },
    linux: { files: mortal(linux.files) },
    connect: settings => {
      const connected = connect(settings)
      return {
        request: request => mortal({ request: () => connected.request(request) }).request(),
        upgrade: request => connected.upgrade(request),
        close: () => connected.close(),
        [Symbol.asyncDispose]: async () => undefined,
      }
    },
    isDead: () => left <= 0,
  }
}

test('a kubelet that is killed between any two steps continues with the same request', async t => {
  const cluster = await startTestTlsCluster(t)
  let kills = 0
  for (let isDead = true; isDead; kills++) {
    const node = await makeTestNode(cluster, `n${kills}`)
    const killed = killedAfter(node.options, kills + 1)
    bootstrapClientCertificate(killed, never()).catch(() => undefined)
    await cluster.advance(5_000)
    isDead = killed.isDead()
    const settings = await cluster.run(bootstrapClientCertificate(node.options, never()))
    assert.equal(await userNameOf(cluster, node, settings), `system:node:n${kills}`)
    const mine = await requestsOf(cluster, kills)
    assert.equal(mine, 1, `killed after ${kills + 1} operations`)
    assert.deepEqual(node.failures, [])
  }
  assert.ok(kills > 15, `only ${kills} steps`)
})

/** Number of all requests, of which each node before has made one. */
async function requestsOf({ plane }: TestTlsCluster, before: number): Promise<number> {
  return (await plane.list(certificateSigningRequests)).length - before
}

async function deny({ plane }: TestTlsCluster): Promise<void> {
  const [request] = await plane.list(certificateSigningRequests)
  const condition = { type: 'Denied', status: 'True', reason: 'Unknown', message: 'not our node' }
  const denied: CertificateSigningRequest = { ...request!, status: { conditions: [condition] } }
  const at = { name: request!.metadata.name, subresource: 'approval' }
  await plane.run(plane.client.updateSubresource(certificateSigningRequests, at, denied))
}

test('a denied request is reported, and requested again when it is deleted', async t => {
  const cluster = await startTestTlsCluster(t, { without: [certificateApprovingController] })
  const node = await makeTestNode(cluster)
  const stopping = new AbortController()
  const made = bootstrapClientCertificate(node.options, stopping.signal)
  made.catch(() => undefined)
  await cluster.advance(5_000)
  await deny(cluster)
  await cluster.advance(60_000)
  assert.ok(node.failures.length >= 3 && node.failures.length < 10, `${node.failures.length} attempts`)
  assert.match(
    node.failures.at(-1) ?? '',
    /CertificateSigningRequest node-csr-\S+ was denied: Unknown: not our node; delete it to request/,
  )
  const [request, ...others] = await cluster.plane.list(certificateSigningRequests)
  assert.deepEqual(others, [])
  const { name } = request!.metadata
  await cluster.run(cluster.plane.client.delete(certificateSigningRequests, { name }))
  await cluster.advance(300_000)
  const [second] = await cluster.plane.list(certificateSigningRequests)
  assert.equal(second?.metadata.name, name, 'with the same key')
  assert.deepEqual(second?.status?.conditions ?? [], [])
  stopping.abort(new Error('stopped'))
  await assert.rejects(cluster.run(made), /stopped/)
})

test('a request that is not approved is reported once, with the command that approves it', async t => {
  const cluster = await startTestTlsCluster(t, { without: [certificateApprovingController] })
  const { options } = await makeTestNode(cluster)
  const warnings: unknown[] = []
  const warn = (message: string, fields: unknown): void => void warnings.push([message, fields])
  const ignore = (): void => undefined
  const log: Log = { debug: ignore, info: ignore, warn, error: ignore, with: () => log }
  const { clock, random, network, files, processes } = options.platform
  const platform = { clock, random, network, files, processes, log }
  const stopping = new AbortController()
  const made = bootstrapClientCertificate({ ...options, platform }, stopping.signal)
  made.catch(() => undefined)
  await cluster.advance(20_000)
  assert.deepEqual(warnings, [])
  await cluster.advance(300_000)
  const [request] = await cluster.plane.list(certificateSigningRequests)
  const { name } = request!.metadata
  const fields = {
    name,
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    remedy: `kubectl certificate approve ${name}`,
  }
  const message = 'Certificate signing request has not been issued yet, it may need approval'
  assert.deepEqual(warnings, [[message, fields]])
  stopping.abort(new Error('stopped'))
  await assert.rejects(cluster.run(made), /stopped/)
})

test('an invalid bootstrap token is reported, and a missing bootstrap kubeconfig is an error', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const { platform } = node.options
  await cluster.run(
    writeKubeconfig(platform, '/bootstrap-kubelet.conf', { token: 'abcdef.wrongwrongwrong00' }),
  )
  const stopping = new AbortController()
  const made = bootstrapClientCertificate(node.options, stopping.signal)
  made.catch(() => undefined)
  await cluster.advance(10_000)
  assert.match(node.failures[0] ?? '', /Unauthorized/)
  stopping.abort()
  await cluster.run(made.catch(() => undefined))
  await cluster.run(platform.files.remove('/bootstrap-kubelet.conf'))
  await assert.rejects(
    cluster.run(bootstrapClientCertificate(node.options, never())),
    /client certificate for node n1: .*bootstrap-kubelet.conf does not exist; join the node again/,
  )
})

test('an embedded client certificate moves to the file that is rotated; that of another node is not used', async t => {
  const cluster = await startTestTlsCluster(t)
  const node = await makeTestNode(cluster)
  const { platform } = node.options
  await cluster.run(bootstrapClientCertificate(node.options, never()))
  const pem = await cluster.run(platform.files.read('/pki/kubelet-client-current.pem'))
  const data = Buffer.from(pem).toString('base64')
  await cluster.run(platform.files.remove('/pki'))
  const user = { 'client-certificate-data': data, 'client-key-data': data }
  await cluster.run(writeKubeconfig(platform, '/kubelet.conf', user))
  const settings = await cluster.run(bootstrapClientCertificate(node.options, never()))
  assert.equal(await userNameOf(cluster, node, settings), 'system:node:n1')
  const file = '/pki/kubelet-client-current.pem'
  assert.deepEqual(settings.user, { certificate: { cert: { file }, key: { file } } })
  assert.equal((await cluster.plane.list(certificateSigningRequests)).length, 1)
  const renamed = await cluster.run(bootstrapClientCertificate({ ...node.options, nodeName: 'n2' }, never()))
  assert.equal(await userNameOf(cluster, node, renamed), 'system:node:n2')
})
