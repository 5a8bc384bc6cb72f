import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ensureClusterCertificates } from '#/kubeadm/certificates.ts'
import { ensureEtcdCertificates } from '#/kubeadm/etcd-certificates.ts'
import {
  administrator,
  controllerManager,
  kubeProxy,
  nodeIdentity,
  scheduler,
  userOf,
} from '#/kubeadm/identities.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import { ensureKubeletCertificates } from '#/kubeadm/kubelet-certificates.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from './temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const crypto = nodeCrypto()

async function certificateFolder(t: TestContext) {
  const folder = join(await temporaryFolder(t), 'pki')
  return {
    path: (name: string) => join(folder, name),
    ensure: () => ensureClusterCertificates({ platform, crypto, folder, serverNames: [] }),
    ensureEtcd: () =>
      ensureEtcdCertificates({
        platform,
        crypto,
        folder,
        nodeName: 'n1',
        names: ['192.0.2.7'],
      }),
  }
}

function openssl(...words: string[]): string {
  return execFileSync('openssl', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

test('each CA verifies only the certificates that it signed', async t => {
  const { path, ensure, ensureEtcd } = await certificateFolder(t)
  const { ca } = await ensure()
  await ensureEtcd()
  const made = {
    platform,
    crypto,
    folder: path('node'),
    ca,
    nodeName: 'n1',
    addresses: ['192.0.2.7'],
  }
  assert.deepEqual(await ensureKubeletCertificates(made), await ensureKubeletCertificates(made))
  const authorities = ['ca', 'front-proxy-ca', 'etcd/ca']
  const check = (name: string, authority: string, subject: RegExp, ...purposes: string[]): void => {
    const file = path(`${name}.crt`)
    for (const each of authorities) {
      const verify = (...words: string[]): string => {
        return openssl('verify', '-x509_strict', '-CAfile', path(`${each}.crt`), ...words, file)
      }
      if (each !== authority) {
        assert.throws(() => verify(), /unable to get local issuer certificate/, `${name} ${each}`)
      } else
        for (const purpose of purposes)
          assert.match(verify('-purpose', purpose), /: OK/, `${name} ${purpose}`)
    }
    assert.match(openssl('x509', '-noout', '-subject', '-nameopt', 'RFC2253', '-in', file), subject)
  }
  check('apiserver', 'ca', /=CN=kube-apiserver$/m, 'sslserver')
  check('apiserver-kubelet-client', 'ca', /=CN=kube-apiserver-kubelet-client$/m, 'sslclient')
  check('front-proxy-client', 'front-proxy-ca', /=CN=front-proxy-client$/m, 'sslclient')
  check('node/kubelet', 'ca', /=CN=system:node:n1,O=system:nodes$/m, 'sslserver')
  check('etcd/server', 'etcd/ca', /=CN=n1$/m, 'sslserver', 'sslclient')
  check('etcd/peer', 'etcd/ca', /=CN=n1$/m, 'sslserver', 'sslclient')
  check('etcd/healthcheck-client', 'etcd/ca', /=CN=kube-etcd-healthcheck-client$/m, 'sslclient')
  check('apiserver-etcd-client', 'etcd/ca', /=CN=kube-apiserver-etcd-client$/m, 'sslclient')
  const names = openssl('x509', '-noout', '-ext', 'subjectAltName', '-in', path('etcd/peer.crt'))
  const kubelet = openssl('x509', '-noout', '-ext', 'subjectAltName', '-in', path('node/kubelet.crt'))
  assert.match(kubelet, /DNS:n1, IP Address:192\.0\.2\.7$/m)
  assert.match(names, /DNS:n1, DNS:localhost, IP Address:127\.0\.0\.1, .*IP Address:192\.0\.2\.7/)
})

test('existing etcd certificates are kept', async t => {
  const { ensure, ensureEtcd } = await certificateFolder(t)
  assert.deepEqual(await ensure(), await ensure())
  assert.deepEqual(await ensureEtcd(), await ensureEtcd())
})

test('etcd certificate files are readable by the owner only', async t => {
  const { path, ensure, ensureEtcd } = await certificateFolder(t)
  await ensure()
  await ensureEtcd()
  for (const folder of ['.', 'etcd']) assert.equal((await stat(path(folder))).mode & 0o777, 0o700, folder)
  const files = [
    'sa.key',
    'sa.pub',
    'front-proxy-ca.key',
    'front-proxy-client.key',
    'apiserver-kubelet-client.key',
    'etcd/ca.key',
    'etcd/peer.key',
  ]
  for (const name of files) assert.equal((await stat(path(name))).mode & 0o777, 0o600, name)
})

test('the key of service accounts is never replaced', async t => {
  const { path, ensure } = await certificateFolder(t)
  const { serviceAccounts } = await ensure()
  assert.equal(createPrivateKey(serviceAccounts.privateKey).asymmetricKeyDetails?.namedCurve, 'prime256v1')
  assert.ok(createPublicKey(serviceAccounts.publicKey).equals(createPublicKey(serviceAccounts.privateKey)))
  await writeFile(path('sa.pub'), 'nonsense')
  assert.deepEqual((await ensure()).serviceAccounts, serviceAccounts)
  assert.equal(await readFile(path('sa.pub'), 'utf8'), serviceAccounts.publicKey)
  openssl('genrsa', '-out', path('sa.key'), '2048')
  const brought = (await ensure()).serviceAccounts
  assert.equal(brought.privateKey, await readFile(path('sa.key'), 'utf8'))
  assert.equal(createPublicKey(brought.publicKey).asymmetricKeyType, 'rsa')
  await writeFile(path('sa.key'), 'nonsense')
  await assert.rejects(ensure(), /cannot read service account key .*sa\.key/)
  await platform.files.remove(path('sa.key'))
  await assert.rejects(ensure(), /sa\.pub is there, but .*sa\.key is not/)
})

test('every component has its own client certificate', async t => {
  const { path, ensure } = await certificateFolder(t)
  const { ca } = await ensure()
  const check = async (identity: typeof scheduler, subject: string): Promise<void> => {
    await ensureKubeconfigFile({
      platform,
      crypto,
      path: path('x.conf'),
      ca: ca,
      server: 'https://127.0.0.1:6443',
      identity,
    })
    const text = await readFile(path('x.conf'), 'utf8')
    const certificate = Buffer.from(/client-certificate-data: (\S+)/.exec(text)![1]!, 'base64')
    await writeFile(path('x.crt'), certificate)
    assert.match(openssl('verify', '-CAfile', path('ca.crt'), '-purpose', 'sslclient', path('x.crt')), /: OK/)
    assert.equal(
      openssl('x509', '-noout', '-subject', '-nameopt', 'RFC2253', '-in', path('x.crt')).trim(),
      `subject=${subject}`,
    )
    assert.match(text, new RegExp(`current-context: "?${identity.commonName}@kubernetes`))
  }
  await check(administrator, 'CN=kubernetes-admin,O=system:masters')
  await check(controllerManager, 'CN=system:kube-controller-manager')
  await check(scheduler, 'CN=system:kube-scheduler')
  await check(kubeProxy, 'CN=system:kube-proxy')
  await check(nodeIdentity('n1'), 'CN=system:node:n1,O=system:nodes')
  assert.deepEqual(userOf(nodeIdentity('n1')), {
    username: 'system:node:n1',
    groups: ['system:nodes', 'system:authenticated'],
  })
})
