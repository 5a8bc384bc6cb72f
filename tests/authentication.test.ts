/** Authentication with real clients: certificates over TLS, an OIDC issuer over HTTPS, and kubectl. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { ApiServer } from '#/apiserver/api-server.ts'
import { oidcConfigurationFromFlags, type AuthenticationSettings } from '#/apiserver/authn.ts'
import { Server } from '#/apiserver/server.ts'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type CertificateAuthority,
  type KeyAndCertificate,
} from '#/kubeadm/certificates.ts'
import { administrator, nodeIdentity } from '#/kubeadm/identities.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import { connectHttp, nodeCrypto, nodePlatform, serveHttp } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { startOidcIssuer } from './oidc-issuer.ts'
import { temporaryFolder } from './temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const options = { platform, crypto: nodeCrypto() }
const folder = await temporaryFolder({ after } as Pick<TestContext, 'after'>)
const certificates = await ensureClusterCertificates({
  ...options,
  folder: join(folder, 'pki'),
  serverNames: [],
})

async function start(t: TestContext, settings: AuthenticationSettings = {}) {
  const { ca, frontProxyCa, apiServer, serviceAccounts } = certificates
  const store = await MemoryStore.open({ platform })
  const api = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    authentication: {
      certificates: { authorities: ca.cert },
      frontProxy: { authorities: frontProxyCa.cert, allowedNames: ['front-proxy-client'] },
      serviceAccounts: { url: 'https://kubernetes.default.svc', signingKey: serviceAccounts.privateKey },
      connectHttp,
      ...settings,
    },
  })
  const server = await Server.start({
    platform,
    serveHttp,
    host: '127.0.0.1',
    port: 0,
    handle: api.handle,
    tls: { ...apiServer, clientCa: `${ca.cert}${frontProxyCa.cert}` },
  })
  t.after(async () => {
    await server.stop(1_000)
    await api.stop()
    await store[Symbol.asyncDispose]()
  })
  return server.address.port
}

function issue(
  ca: CertificateAuthority,
  commonName: string,
  organizations: readonly string[] = [],
): Promise<KeyAndCertificate> {
  const profile = { commonName, organizations, usage: 'client', names: [] } as const
  return ensureCertificate(options, { profile, ca, existing: undefined })
}

const review = JSON.stringify({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' })

const reviewPath = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

interface ClientOptions extends Partial<Record<'cert' | 'key', string | Buffer>> {
  readonly headers?: Record<string, string | string[]>
}

/**
 * The user that the server authenticates, or the status code. The user must be allowed to create a
 * SelfSubjectReview.
 */
async function whoAmI(port: number, given: ClientOptions): Promise<Record<string, unknown> | number> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown> | number>()
  const request = httpsRequest(
    {
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: reviewPath,
      ca: certificates.ca.cert,
      agent: false,
      ...given,
      headers: { 'content-type': 'application/json', ...given.headers },
    },
    response => {
      text(response).then(body => {
        const { status } = JSON.parse(body) as { status: { userInfo: Record<string, unknown> } }
        resolve(response.statusCode === 201 ? status.userInfo : (response.statusCode ?? 0))
      }, reject)
    },
  )
  request.on('error', reject).end(review)
  return promise
}

test('users come from the client CA only, and request headers from the front proxy only', async t => {
  const port = await start(t)
  const { ca, frontProxyCa, frontProxyClient } = certificates
  const asZoe = {
    'X-Remote-User': 'zoe',
    'X-Remote-Group': ['system:masters', 'CN=a,OU=b'],
    'X-Remote-Extra-Acme.com%2FX': 'y',
  }
  const masters = ['system:masters']
  const admin = await issue(ca, 'alice', masters)
  const name = async (given: ClientOptions): Promise<unknown> => {
    const found = await whoAmI(port, given)
    return typeof found === 'number' ? found : found['username']
  }
  assert.equal(await name(admin), 'alice')
  assert.equal(await name({ ...admin, headers: asZoe }), 'alice')
  assert.equal(await name(await issue(frontProxyCa, 'alice', masters)), 401)
  assert.equal(await name(frontProxyClient), 401)
  assert.deepEqual(await whoAmI(port, { ...frontProxyClient, headers: asZoe }), {
    username: 'zoe',
    groups: ['system:masters', 'CN=a,OU=b', 'system:authenticated'],
    extra: { 'acme.com/x': ['y'] },
  })
  assert.equal(await name({ ...(await issue(frontProxyCa, 'other')), headers: asZoe }), 401)
  assert.equal(await name({ headers: asZoe }), 403)
})

test('an untrusted or server certificate is rejected, not ignored', async t => {
  const port = await start(t)
  const strangers = await ensureClusterCertificates({
    ...options,
    folder: join(folder, 'strangers'),
    serverNames: [],
  })
  assert.equal(await whoAmI(port, await issue(strangers.ca, 'alice', ['system:masters'])), 401)
  assert.equal(await whoAmI(port, certificates.apiServer), 401)
  assert.equal(await whoAmI(port, {}), 403)
})

test('every group is a header of its own, also over HTTP/2', async t => {
  const port = await start(t)
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    ca: certificates.ca.cert,
    ...(await issue(certificates.ca, 'alice', ['system:masters'])),
  })
  t.after(() => session.destroy())
  const stream = session.request({
    ':method': 'POST',
    ':path': reviewPath,
    'content-type': 'application/json',
    'impersonate-user': 'zoe',
    'impersonate-group': ['system:masters', 'CN=a,OU=b'],
    'impersonate-extra-acme.com%2fx': ['1', '2,3'],
  })
  stream.end(review)
  const { status } = JSON.parse(await text(stream)) as { status: { userInfo: object } }
  assert.deepEqual(status.userInfo, {
    username: 'zoe',
    groups: ['system:masters', 'CN=a,OU=b', 'system:authenticated'],
    extra: { 'acme.com/x': ['1', '2,3'] },
  })
})

test('a certificate may carry a uid', async t => {
  const port = await start(t)
  const path = (name: string): string => join(folder, name)
  const openssl = (...words: string[]): unknown =>
    execFileSync('openssl', words, { stdio: ['ignore', 'pipe', 'pipe'] })
  await writeFile(path('extensions'), 'extendedKeyUsage = clientAuth\n')
  await writeFile(
    path('names'),
    'oid_section = oids\n[oids]\nuserUid = 1.3.6.1.4.1.57683.2\n[req]\ndistinguished_name = dn\n[dn]\n',
  )
  const check = async (subject: string, expected: unknown): Promise<void> => {
    openssl(
      'req',
      '-config',
      path('names'),
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      subject,
      '-keyout',
      path('uid.key'),
      '-out',
      path('uid.csr'),
    )
    openssl(
      'x509',
      '-req',
      '-in',
      path('uid.csr'),
      '-CA',
      path('pki/ca.crt'),
      '-CAkey',
      path('pki/ca.key'),
      '-days',
      '1',
      '-extfile',
      path('extensions'),
      '-out',
      path('uid.crt'),
    )
    const [cert, key] = await Promise.all(['uid.crt', 'uid.key'].map(name => platform.files.read(path(name))))
    const found = await whoAmI(port, { cert: Buffer.from(cert!), key: Buffer.from(key!) })
    assert.deepEqual(typeof found === 'number' ? found : [found['username'], found['uid']], expected)
  }
  await check('/O=system:masters/CN=alice/userUid=u-1', ['alice', 'u-1'])
  await check('/O=system:masters/CN=alice', ['alice', undefined])
  await check('/O=system:masters/CN=alice/userUid=u-1/userUid=u-2', 401)
})

test('tokens of an external issuer are verified with its published JWKS', async t => {
  const { url, tokenOf } = await startOidcIssuer(t, certificates)
  const flags = {
    issuerUrl: url,
    clientId: 'k8s',
    usernamePrefix: 'oidc:',
    groupsClaim: 'groups',
    certificateAuthority: certificates.ca.cert,
  }
  const port = await start(t, { issuers: [oidcConfigurationFromFlags(flags)] })
  const claims = { sub: 'zoe', groups: ['system:masters'] }
  const ask = (content: object): ReturnType<typeof whoAmI> => whoAmI(port, { headers: tokenOf(content) })
  assert.deepEqual(await ask(claims), {
    username: 'oidc:zoe',
    groups: ['system:masters', 'system:authenticated'],
  })
  assert.equal(await ask({ ...claims, aud: 'other' }), 401)
  assert.equal(await ask({ ...claims, exp: 1 }), 401)
})

test('a token of kubectl create token is valid until its service account is deleted', async t => {
  const port = await start(t)
  const server = `https://127.0.0.1:${port}`
  const kubeconfig = async (name: string, identity: typeof administrator): Promise<string> => {
    const path = join(folder, name)
    await ensureKubeconfigFile({ ...options, path, ca: certificates.ca, server, identity })
    return path
  }
  const admin = await kubeconfig('admin.conf', administrator)
  const kubectl = async (...words: string[]): Promise<string> => {
    return (await promisify(execFile)('kubectl', words, { env: { ...process.env, HOME: folder } })).stdout
  }
  await kubectl('--kubeconfig', admin, 'create', 'serviceaccount', 'web')
  const token = (await kubectl('--kubeconfig', admin, 'create', 'token', 'web', '--duration', '10m')).trim()
  const refused = /cannot (?:list|impersonate)|Forbidden/
  const authority = join(folder, 'pki/ca.crt')
  const withToken = ['--server', server, '--certificate-authority', authority, '--token', token]
  const asToken = (): Promise<string> => {
    return kubectl('--kubeconfig', '/dev/null', ...withToken, 'get', '--raw', '/version')
  }
  assert.match(await asToken(), /gitVersion/)
  assert.match(await kubectl('--kubeconfig', admin, 'auth', 'whoami'), /kubernetes-admin/)
  const node = await kubeconfig('kubelet.conf', nodeIdentity('n1'))
  await assert.rejects(kubectl('--kubeconfig', node, 'get', '--raw', '/api/v1/pods'), refused)
  await kubectl('--kubeconfig', admin, 'delete', 'serviceaccount', 'web')
  await assert.rejects(
    asToken(),
    /must be logged in|Unauthorized|asked for the client to provide credentials/,
  )
})
