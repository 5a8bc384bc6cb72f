/** Discovery against a real API server, whose TLS is simulated: it trusts exactly the CA of the cluster. */
import assert from 'node:assert/strict'
import { before, test, type TestContext } from 'node:test'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { clientOf } from '#/client/client.ts'
import { signDetached } from '#/base/detached-signature.ts'
import { HttpClientError, type HttpConnect } from '#/platform/http-client.ts'
import { readKubeconfig, writeClientKubeconfig } from '#/kubelet/node-kubeconfig.ts'
import { bootstrapSignerController } from '#/controllers/bootstrap-signer.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { tokenCleanerController } from '#/controllers/token-cleaner.ts'
import { nodeCrypto } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { parseBootstrapToken, type BootstrapToken } from './bootstrap-token.ts'
import { createBootstrapToken } from './bootstrap-tokens.ts'
import { caCertHash } from './ca-cert-hash.ts'
import { issueCaCertificate } from './certificates/issue.ts'
import { clockProblem, clockSkewProblem } from './clock-problem.ts'
import { publishClusterInfo, validateClusterInfo } from './cluster-info.ts'
import { discoverCluster, type DiscoverClusterOptions } from './discover-cluster.ts'
import { apiServerName, localApiServerUrl } from './host-processes.ts'
import { checkBootstrapToken, readDiscoveryFile, writeJoinFiles } from './join-files.ts'

const token = { id: 'abcdef', secret: '0123456789abcdef' }
const server = 'https://10.0.0.1:6443'
let ca: string
let otherCa: string

before(async () => {
  const options = { platform: new Simulation({ seed: 1 }).host('a'), crypto: nodeCrypto() }
  ca = (await issueCaCertificate(options, 'kubernetes')).cert
  otherCa = (await issueCaCertificate(options, 'kubernetes')).cert
})

async function start(t: TestContext) {
  const plane = await startTestControlPlane(t, [bootstrapSignerController, tokenCleanerController])
  const { client, run, platform } = plane
  const anonymous = plane.clientAs('system:anonymous', ['system:unauthenticated'])
  let isDown = false
  /** Answers as the API server at 10.0.0.1 would, which has a certificate of `ca`. */
  const connect: HttpConnect = ({ tls }) => ({
    async request({ path }) {
      if (isDown) throw new HttpClientError('unreachable', 'connection refused', { sent: false })
      if (tls?.insecureSkipVerify !== true && String(tls?.ca) !== ca)
        throw new HttpClientError('unreachable', 'self-signed certificate', { sent: false })
      assert.equal(path, '/api/v1/namespaces/kube-public/configmaps/cluster-info')
      const found = await anonymous.find(configMaps, { namespace: 'kube-public', name: 'cluster-info' })
      const body = found ?? {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'NotFound',
        code: 404,
      }
      return {
        status: found ? 200 : 404,
        headers: { 'content-type': 'application/json' },
        body: (async function* () {
          yield Buffer.from(JSON.stringify(body))
        })(),
        discard: () => undefined,
      }
    },
    upgrade: () => Promise.reject(new Error('no upgrades')),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
  const create = (given: Partial<BootstrapToken> = {}) =>
    run(
      createBootstrapToken(client, {
        ...token,
        description: '',
        expiresMs: platform.clock.now() + 600_000,
        usages: ['authentication', 'signing'],
        groups: [],
        ...given,
      }),
    )
  const discover = (given: Partial<DiscoverClusterOptions> = {}) =>
    run(
      discoverCluster({
        platform,
        connect,
        endpoint: '10.0.0.1:6443',
        token,
        caCertHashes: [caCertHash(ca)],
        timeoutMs: 300_000,
        ...given,
      }),
    )
  const publish = (caCertificates = ca) => run(publishClusterInfo(client, { server, caCertificates }))
  return { ...plane, create, discover, publish, setDown: (is: boolean) => void (isDown = is) }
}

test('a machine with the token and the hash of the CA finds the cluster', async t => {
  const { create, discover, publish } = await start(t)
  await create()
  await publish()
  assert.deepEqual(await discover(), { server, caCertificates: ca })
  assert.deepEqual(await discover({ caCertHashes: [] }), { server, caCertificates: ca })
})

test('discovery waits for an API server that is not there yet, and for the signature', async t => {
  const { create, discover, publish, setDown, platform } = await start(t)
  setDown(true)
  platform.clock.setTimer(60_000, () => setDown(false))
  await create()
  await publish()
  const reasons: string[] = []
  assert.equal((await discover({ onRetry: reason => reasons.push(reason) })).server, server)
  assert.deepEqual(reasons, ['failed to request the cluster-info ConfigMap: connection refused'])
})

test('each reason for a failed discovery is one line that says what to do', async t => {
  const { create, discover, publish, setDown, advance, settle } = await start(t)
  const check = async (given: Partial<DiscoverClusterOptions>, expected: RegExp): Promise<void> => {
    await assert.rejects(discover(given), (error: Error) => {
      assert.match(error.message, expected)
      assert.ok(!error.message.includes('\n'))
      return true
    })
  }
  await check(
    {},
    /cannot join 10.0.0.1:6443: the cluster has no public ConfigMap cluster-info; run k8ts init phase/,
  )
  await create()
  await publish()
  await check(
    { token: { ...token, secret: 'fedcba9876543210' } },
    /failed to verify JWS signature.*can't trust/,
  )
  await check(
    { token: { ...token, id: 'fedcba' } },
    /token id "fedcba" is invalid .* expired; run k8ts token create/,
  )
  await check(
    { caCertHashes: [caCertHash(otherCa)] },
    /cluster CA .* none of the public keys sha256:\w+ are pinned; compare/,
  )
  await publish(otherCa)
  await settle()
  await check(
    { caCertHashes: [caCertHash(otherCa)] },
    /failed to request the cluster-info ConfigMap: .*self-signed/,
  )
  setDown(true)
  await check({}, /connection refused.*; check the address and that the API server is running/)
  setDown(false)
  await advance(600_000)
  await check({}, /token id "abcdef" is invalid for this cluster or it has expired; run k8ts token create/)
})

test('the signature is that of the token over the kubeconfig', () => {
  const kubeconfig = 'apiVersion: v1'
  const signature = signDetached(kubeconfig, { keyId: token.id, secret: token.secret })
  const check = (data: Readonly<Record<string, string>> | undefined, expected: string): void => {
    assert.equal(validateClusterInfo(data, token).type, expected)
  }
  check({ kubeconfig, 'jws-kubeconfig-abcdef': signature }, 'valid')
  check({ 'kubeconfig': `${kubeconfig} `, 'jws-kubeconfig-abcdef': signature }, 'invalid')
  check({ kubeconfig, 'jws-kubeconfig-abcdef': 'x' }, 'invalid')
  check({ kubeconfig, 'jws-kubeconfig-ffffff': signature }, 'unsigned')
  check({ 'jws-kubeconfig-abcdef': signature }, 'invalid')
  check(undefined, 'invalid')
})

test('clocks that differ are named as the reason', () => {
  const minute = 60_000
  assert.equal(clockSkewProblem(0, 4 * minute), undefined)
  assert.match(
    clockSkewProblem(0, 12 * minute) ?? '',
    /clock of this machine is 12m behind that of the API server: set/,
  )
  assert.match(clockSkewProblem(200 * minute, 0) ?? '', /is 3h20m ahead of that of the API server/)
  const cause = Object.assign(new Error('not yet valid'), { code: 'CERT_NOT_YET_VALID' })
  assert.match(
    clockProblem(new Error('request failed', { cause })) ?? '',
    /not valid yet by the clock of this machine/,
  )
  assert.equal(clockProblem(new Error('refused')), undefined)
})

test('a token that is not accepted, and a clock that differs, are reported before the files are written', async t => {
  const { clientAs, run, platform } = await start(t)
  const client = clientAs('system:bootstrap:abcdef', ['system:bootstrappers'])
  const nowMs = platform.clock.now()
  await run(checkBootstrapToken(client, { nowMs, server }))
  const late = run(checkBootstrapToken(client, { nowMs: nowMs + 3_600_000, server }))
  await assert.rejects(late, /clock of this machine is 60m ahead of that of the API server/)
  const refusing = clientOf({
    platform,
    userAgent: 'test',
    transport: {
      request: async () => ({
        status: 401,
        headers: {},
        value: async () => ({ kind: 'Status', apiVersion: 'v1', reason: 'Unauthorized', code: 401 }),
        events: () => assert.fail('not a watch'),
        bytes: () => assert.fail('not bytes'),
        discard: () => undefined,
      }),
    },
  })
  const refused = run(checkBootstrapToken(refusing, { nowMs, server }))
  await assert.rejects(
    refused,
    /the bootstrap token is not accepted, it may have expired: run k8ts token create/,
  )
})

test('a joining machine has a kubeconfig with the token and the CA, which is a discovery file as well', async t => {
  const { run, platform } = await start(t)
  const cluster = { server, caCertificates: ca }
  const text = `${token.id}.${token.secret}`
  assert.deepEqual(parseBootstrapToken(text), token)
  const files = { folder: '/host', caCertPath: '/host/pki/ca.crt', cluster, token: text }
  const path = await run(writeJoinFiles(platform, files))
  assert.equal(path, '/host/bootstrap-kubelet.conf')
  const written = Buffer.from(await run(platform.files.read(path))).toString()
  assert.match(written, /token: abcdef.0123456789abcdef/)
  assert.equal(Buffer.from(await run(platform.files.read('/host/pki/ca.crt'))).toString(), ca)
  assert.deepEqual(await run(readDiscoveryFile(platform, path)), cluster)
  await assert.rejects(run(readDiscoveryFile(platform, '/none')), /discovery file \/none: file not found/)
  await assert.rejects(run(readDiscoveryFile(platform, '/host/pki/ca.crt')), /it has no cluster with server/)
})

test('a joined host verifies API servers by a name that kubeadm puts into their certificates', async t => {
  const { run, platform } = await start(t)
  const cluster = { server: localApiServerUrl, serverName: apiServerName, caCertificates: ca }
  const files = { folder: '/host', caCertPath: '/host/pki/ca.crt', cluster, token: 'abcdef.0123456789abcdef' }
  const bootstrap = await run(writeJoinFiles(platform, files))
  const settings = await run(readKubeconfig(platform, bootstrap))
  assert.equal(settings?.server, 'https://127.0.0.1:6444')
  assert.equal(settings.serverName, 'kubernetes')
  // The kubelet keeps it when it has its certificate.
  const path = '/host/kubelet.conf'
  await run(
    writeClientKubeconfig(platform, { path, certificatePath: '/host/kubelet.pem', cluster: settings }),
  )
  assert.equal((await run(readKubeconfig(platform, path)))?.serverName, 'kubernetes')
})
