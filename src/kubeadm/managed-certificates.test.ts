import 'reflect-metadata'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  BasicConstraintsExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ensureAdminKubeconfig } from './admin-kubeconfig.ts'
import {
  decryptWithCertificateKey,
  encryptWithCertificateKey,
  generateCertificateKey,
  validateCertificateKey,
} from './certificate-key.ts'
import { issueCertificate } from './certificates/issue.ts'
import { exportPrivateKey, generateKeys, keyAlgorithm } from '#/base/elliptic-keys.ts'
import { ensureClusterCertificates } from './certificates.ts'
import { ensureEtcdCertificates } from './etcd-certificates.ts'
import { readEmbeddedCertificate } from './kubeconfig-file.ts'
import { managedCertificates, readCertificateExpirations, renewCertificate } from './managed-certificates.ts'
import { issueUserKubeconfig } from './user-kubeconfig.ts'

const dayMs = 24 * 3_600_000
async function cluster(t: TestContext, { withEtcd = false } = {}) {
  const root = await temporaryFolder(t)
  const folder = join(root, 'pki')
  const real = nodePlatform({ log: { level: 'error', format: 'text' } })
  let aheadMs = 0
  const clock = { ...real.clock, now: () => real.clock.now() + aheadMs }
  const platform = { ...real, clock }
  const advance = (ms: number): void => void (aheadMs += ms)
  const options = { platform, crypto: nodeCrypto() }
  const { ca } = await ensureClusterCertificates({ ...options, folder, serverNames: ['10.0.0.1', 'cp1'] })
  const server = 'https://10.0.0.1:6443'
  await ensureAdminKubeconfig({ ...options, path: join(root, 'admin.conf'), ca, server })
  if (withEtcd) await ensureEtcdCertificates({ ...options, folder, nodeName: 'cp1', names: ['10.0.0.1'] })
  const read = async (path: string): Promise<string> => {
    return Buffer.from(await platform.files.read(join(root, path))).toString()
  }
  const folders = { certificates: folder, kubeconfigs: root }
  return { platform, options, advance, read, ca, folders }
}

test('certificates are listed with the time at which they expire: leaves in a year, CAs in ten', async t => {
  const { platform, folders } = await cluster(t)
  const { certificates, authorities } = await readCertificateExpirations(platform.files, folders)
  const days = (expiresMs: number | undefined): number | undefined =>
    expiresMs === undefined ? undefined : Math.round((expiresMs - platform.clock.now()) / dayMs)
  assert.deepEqual(
    certificates.map(({ name, expiresMs, caName }) => [name, days(expiresMs), caName]),
    [
      ['admin.conf', 365, 'ca'],
      ['apiserver', 365, 'ca'],
      ['apiserver-kubelet-client', 365, 'ca'],
      ['controller-manager.conf', undefined, 'ca'],
      ['front-proxy-client', 365, 'front-proxy-ca'],
      ['scheduler.conf', undefined, 'ca'],
      ['super-admin.conf', undefined, 'ca'],
    ],
  )
  assert.deepEqual(
    authorities.map(({ name, expiresMs, isExternallyManaged }) => [
      name,
      days(expiresMs),
      isExternallyManaged,
    ]),
    [
      ['ca', 3650, false],
      ['front-proxy-ca', 3650, false],
    ],
  )
})

test('certificates of etcd are listed when the cluster has one', async t => {
  const { platform, folders } = await cluster(t, { withEtcd: true })
  const { certificates, authorities } = await readCertificateExpirations(platform.files, folders)
  const etcd = certificates.filter(({ caName }) => caName === 'etcd-ca')
  assert.deepEqual(
    etcd.map(({ name, expiresMs }) => [name, expiresMs !== undefined]),
    ['apiserver-etcd-client', 'etcd-healthcheck-client', 'etcd-peer', 'etcd-server'].map(name => [
      name,
      true,
    ]),
  )
  assert.deepEqual(
    authorities.map(({ name }) => name),
    ['ca', 'etcd-ca', 'front-proxy-ca'],
  )
})

test('renewal keeps subject, names and usages, with a new key and another year', async t => {
  const { platform, options, advance, read, ca, folders } = await cluster(t, { withEtcd: true })
  advance(300 * dayMs)
  for (const certificate of managedCertificates) {
    const { name, file } = certificate
    const read1 = async (): Promise<X509Certificate | undefined> => {
      if (file !== undefined) return new X509Certificate(await read(`pki/${file}.crt`))
      if (name !== 'admin.conf') return undefined
      return new X509Certificate(readEmbeddedCertificate(await read('admin.conf'))!.cert)
    }
    const before = await read1()
    const result = await renewCertificate({ ...options, folders, certificate })
    const after = await read1()
    if (before === undefined || after === undefined) {
      assert.equal(result, 'missing', name)
      continue
    }
    assert.equal(result, 'renewed', name)
    for (const field of ['subject', 'issuer', 'subjectAltName'] as const)
      assert.equal(after[field], before[field], `${name} ${field}`)
    assert.deepEqual(after.keyUsage, before.keyUsage, name)
    assert.notEqual(after.fingerprint256, before.fingerprint256)
    assert.equal(Math.round((after.validToDate.getTime() - platform.clock.now()) / dayMs), 365)
    if (certificate.ca.file === 'ca') assert.ok(after.verify(new X509Certificate(ca.cert).publicKey))
  }
  assert.match(await read('admin.conf'), /server: https:\/\/10\.0\.0\.1:6443/)
})

test('certificates of a CA whose key is elsewhere are not renewed', async t => {
  const { platform, options, folders } = await cluster(t)
  await platform.files.remove(join(folders.certificates, 'ca.key'))
  const certificate = managedCertificates.find(({ name }) => name === 'apiserver')!
  assert.equal(await renewCertificate({ ...options, folders, certificate }), 'external')
  const { certificates } = await readCertificateExpirations(platform.files, folders)
  assert.deepEqual(
    certificates.filter(each => each.isExternallyManaged).map(({ caName }) => caName),
    ['ca', 'ca', 'ca', 'ca', 'ca', 'ca'],
  )
})

test('the kubeconfig of a user has a certificate for the given time, or a token', async t => {
  const { platform, options, folders } = await cluster(t)
  const wanted = {
    ...options,
    certificatesFolder: folders.certificates,
    server: 'https://10.0.0.1:6443',
    name: 'jane',
  }
  const text = await issueUserKubeconfig({ ...wanted, organizations: ['a', 'b'], validityMs: dayMs })
  const certificate = new X509Certificate(readEmbeddedCertificate(text)!.cert)
  assert.equal(certificate.subject, 'O=a\nO=b\nCN=jane')
  assert.equal(Math.round((certificate.validToDate.getTime() - platform.clock.now()) / dayMs), 1)
  assert.match(text, /current-context: jane@kubernetes/)
  const withToken = await issueUserKubeconfig({ ...wanted, organizations: [], token: 'secret' })
  assert.match(withToken, /token: secret/)
  await platform.files.remove(join(folders.certificates, 'ca.key'))
  await assert.rejects(issueUserKubeconfig({ ...wanted, organizations: [] }), /ca\.key is missing/)
})

test('content is decrypted only with the certificate key that encrypted it', () => {
  const { random } = new Simulation({ seed: 1 }).host('a')
  const key = generateCertificateKey(random)
  const encrypted = encryptWithCertificateKey(random, key, 'a key')
  assert.equal(decryptWithCertificateKey(key, encrypted)?.toString(), 'a key')
  assert.equal(decryptWithCertificateKey(generateCertificateKey(random), encrypted), undefined)
  encrypted[14]! ^= 1
  assert.equal(decryptWithCertificateKey(key, encrypted), undefined)
  assert.equal(decryptWithCertificateKey(key, encrypted.subarray(0, 20)), undefined)
  assert.equal(validateCertificateKey(key), undefined)
  assert.match(validateCertificateKey('abc') ?? '', /expected 64 hexadecimal digits/)
})

test('a certificate names the key of its CA as the certificate of the CA does', async () => {
  const options = { platform: new Simulation({ seed: 1 }).host('a'), crypto: nodeCrypto() }
  const keys = await generateKeys(options.crypto)
  const notBefore = new Date(options.platform.clock.now())
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=kubernetes',
      notBefore,
      notAfter: new Date(notBefore.getTime() + 1_000 * dayMs),
      keys,
      signingAlgorithm: { ...keyAlgorithm, hash: 'SHA-256' },
      // As of Go, which truncates a SHA-256.
      extensions: [new BasicConstraintsExtension(true), new SubjectKeyIdentifierExtension('ab'.repeat(20))],
    },
    options.crypto,
  )
  const ca = {
    cert: certificate.toString('pem'),
    key: await exportPrivateKey(options.crypto, keys.privateKey),
  }
  const profile = { commonName: 'a', organizations: [], usage: 'client', names: [] } as const
  const { cert } = await issueCertificate(options, { profile, ca })
  assert.ok(new X509Certificate(cert).checkIssued(new X509Certificate(ca.cert)))
})
