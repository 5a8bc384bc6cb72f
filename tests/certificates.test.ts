import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ensureAdminKubeconfig } from '#/kubeadm/admin-kubeconfig.ts'
import { ensureClusterCertificates, type ClusterCertificates } from '#/kubeadm/certificates.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { temporaryFolder } from './temporary-folder.ts'

const machine = nodePlatform({ log: { level: 'error', format: 'text' } })
const crypto = nodeCrypto()
const dayMs = 24 * 3_600_000

function later(days: number): Platform {
  return { ...machine, clock: { ...machine.clock, now: () => machine.clock.now() + days * dayMs } }
}

async function clusterFolder(t: TestContext) {
  const folder = await temporaryFolder(t)
  return {
    path: (name: string) => join(folder, name),
    ensure: (platform = machine, serverNames: readonly string[] = ['node-1', '192.0.2.7']) => {
      return ensureClusterCertificates({ platform, crypto, folder: join(folder, 'pki'), serverNames })
    },
    ensureAdmin: async (
      { ca }: ClusterCertificates,
      server = 'https://127.0.0.1:6443',
      platform = machine,
    ) => {
      const path = join(folder, 'admin.conf')
      await ensureAdminKubeconfig({ platform, crypto, path, ca: ca, server })
      return readFile(path, 'utf8')
    },
  }
}

function openssl(...words: string[]): string {
  return execFileSync('openssl', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

test('openssl verifies the certificates for their purpose and every name', async t => {
  const { path, ensure, ensureAdmin } = await clusterFolder(t)
  const certificates = await ensure()
  const kubeconfig = await ensureAdmin(certificates)
  await writeFile(path('admin.crt'), valueOf(kubeconfig, 'client-certificate-data'))
  const [ca, server, admin] = [path('pki/ca.crt'), path('pki/apiserver.crt'), path('admin.crt')]
  const verify = (...words: string[]): string => openssl('verify', '-x509_strict', '-CAfile', ca, ...words)
  for (const name of [
    'kubernetes',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    'node-1',
  ]) {
    assert.match(verify('-purpose', 'sslserver', '-verify_hostname', name, server), /: OK/)
  }
  for (const address of ['10.96.0.1', '127.0.0.1', '::1', '192.0.2.7']) {
    assert.match(verify('-purpose', 'sslserver', '-verify_ip', address, server), /: OK/)
  }
  assert.match(verify('-purpose', 'sslclient', admin), /: OK/)
  assert.throws(() => verify('-purpose', 'sslclient', server), /(unsuitable|unsupported) certificate purpose/)
  assert.throws(
    () => verify('-purpose', 'sslserver', '-verify_hostname', 'example.com', server),
    /hostname mismatch/,
  )
  assert.match(
    openssl('x509', '-noout', '-subject', '-in', admin),
    /O ?= ?system:masters, ?CN ?= ?kubernetes-admin/,
  )
})

test('keys are on the curve P-256, and their files are readable by the owner only', async t => {
  const { path, ensure, ensureAdmin } = await clusterFolder(t)
  await ensureAdmin(await ensure())
  for (const name of ['pki/ca.crt', 'pki/ca.key', 'pki/apiserver.crt', 'pki/apiserver.key', 'admin.conf']) {
    assert.equal((await stat(path(name))).mode & 0o777, 0o600, name)
  }
  const key = createPrivateKey(await readFile(path('pki/apiserver.key'), 'utf8'))
  assert.equal(key.asymmetricKeyDetails?.namedCurve, 'prime256v1')
})

test('certificates are renewed before they expire; the CA is valid for ten years', async t => {
  const { ensure, ensureAdmin } = await clusterFolder(t)
  const first = await ensure()
  const kubeconfig = await ensureAdmin(first)
  assert.deepEqual(await ensure(later(300)), first)
  const renewed = await ensure(later(340))
  assert.deepEqual(renewed.ca, first.ca)
  assert.notEqual(renewed.apiServer.cert, first.apiServer.cert)
  assert.equal(await ensureAdmin(first, undefined, later(300)), kubeconfig)
  assert.notEqual(await ensureAdmin(first, undefined, later(340)), kubeconfig)
  await assert.rejects(ensure(later(3_651)), /cannot use CA certificate .*ca\.crt: it has expired/)
  const last = await ensure(later(3_500))
  assert.equal(new X509Certificate(last.apiServer.cert).validTo, new X509Certificate(first.ca.cert).validTo)
})

test('a certificate is renewed for a missing name, but not for an unneeded one', async t => {
  const { ensure } = await clusterFolder(t)
  const first = await ensure()
  assert.deepEqual(await ensure(machine, []), first)
  const second = await ensure(machine, ['node-2', 'fd00::1'])
  const certificate = new X509Certificate(second.apiServer.cert)
  assert.ok(certificate.checkHost('node-2') && certificate.checkIP('fd00::1'))
})

test('damaged or mismatched certificate files are renewed, the CA never', async t => {
  const { path, ensure } = await clusterFolder(t)
  const first = await ensure()
  const damages: [string, string][] = [
    ['pki/apiserver.crt', 'nonsense'],
    ['pki/apiserver.key', 'nonsense'],
    ['pki/apiserver.key', first.ca.key!],
    ['pki/apiserver.crt', first.ca.cert],
  ]
  for (const [name, content] of damages) {
    const before = await ensure()
    await writeFile(path(name), content)
    const after = await ensure()
    assert.notEqual(after.apiServer.key, before.apiServer.key)
    assert.ok(
      new X509Certificate(after.apiServer.cert).checkPrivateKey(createPrivateKey(after.apiServer.key)),
    )
  }
  await writeFile(path('pki/ca.key'), first.apiServer.key)
  await assert.rejects(ensure(), /ca\.crt: the key beside it does not match/)
  await writeFile(path('pki/ca.crt'), first.apiServer.cert)
  await assert.rejects(ensure(), /ca\.crt: it is not a CA certificate/)
  await writeFile(path('pki/ca.crt'), 'nonsense')
  await assert.rejects(ensure(), /ca\.crt: it cannot be read/)
})

test('a provided RSA CA signs; without its key the existing certificates are used', async t => {
  const { path, ensure } = await clusterFolder(t)
  await ensure()
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '100',
    '-subj',
    '/CN=ours',
    '-keyout',
    path('pki/ca.key'),
    '-out',
    path('pki/ca.crt'),
  )
  const signed = await ensure()
  assert.match(openssl('verify', '-CAfile', path('pki/ca.crt'), path('pki/apiserver.crt')), /: OK/)
  await machine.files.remove(path('pki/ca.key'))
  assert.deepEqual((await ensure()).apiServer, signed.apiServer)
  await assert.rejects(
    ensure(machine, ['elsewhere']),
    /kube-apiserver \(it is not for elsewhere\): ca\.key is missing/,
  )
})

test('the kubeconfig keeps its certificate when its address changes or the file is damaged', async t => {
  const { path, ensure, ensureAdmin } = await clusterFolder(t)
  const certificates = await ensure()
  const first = await ensureAdmin(certificates)
  const moved = await ensureAdmin(certificates, 'https://127.0.0.1:7000')
  assert.equal(moved, first.replace(':6443', ':7000'))
  const half = 'users:\n- user:\n    client-key-data: x\n'
  for (const content of ['', 'users: 7', 'users: [{user: {client-certificate-data: 1}}]', '{{{', half]) {
    await writeFile(path('admin.conf'), content)
    assert.match(await ensureAdmin(certificates), /current-context: kubernetes-admin@kubernetes/)
  }
})

function valueOf(kubeconfig: string, name: string): string {
  return Buffer.from(new RegExp(`${name}: (\\S+)`).exec(kubeconfig)![1]!, 'base64').toString()
}
