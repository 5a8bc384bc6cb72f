import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ensureClusterCertificates } from '#/kubeadm/certificates.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { temporaryFolder } from '../../../tests/temporary-folder.ts'
import { waitUntil } from '../../../tests/wait-until.ts'
import { part, startTestServer } from '../test-server.ts'
import { authenticationTrust, combineTrust } from './cluster-authentication-trust.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

test('the ConfigMap contains certificate authorities and front proxy headers', () => {
  assert.deepEqual(authenticationTrust({}), {})
  assert.deepEqual(authenticationTrust({ certificates: { authorities: 'CLIENT' } }), {
    'client-ca-file': 'CLIENT',
  })
  const frontProxy = {
    authorities: 'PROXY',
    allowedNames: ['front-proxy-client'],
    groupHeaders: ['X-G', 'X-H'],
  }
  assert.deepEqual(authenticationTrust({ certificates: { authorities: 'CLIENT' }, frontProxy }), {
    'client-ca-file': 'CLIENT',
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-client-ca-file': 'PROXY',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-group-headers': '["X-G","X-H"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-username-headers': '["X-Remote-User"]',
  })
})

test('the trust of several API servers is combined, without expired certificates', async t => {
  const folder = await temporaryFolder(t)
  const made = { platform, crypto: nodeCrypto(), serverNames: [] }
  const { ca, frontProxyCa } = await ensureClusterCertificates({ ...made, folder: join(folder, 'pki') })
  const nowMs = platform.clock.now()
  const combine = (stored: Record<string, string>, own: Record<string, string>, atMs = nowMs): object => {
    return combineTrust(stored, own, atMs)
  }
  const both = { 'client-ca-file': `${ca.cert}${frontProxyCa.cert}` }
  assert.deepEqual(combine({}, { 'client-ca-file': ca.cert }), { 'client-ca-file': ca.cert })
  assert.deepEqual(combine({ 'client-ca-file': ca.cert }, { 'client-ca-file': frontProxyCa.cert }), both)
  assert.deepEqual(combine(both, { 'client-ca-file': ca.cert }), both)
  assert.deepEqual(combine({ 'client-ca-file': 'x' }, { 'client-ca-file': ca.cert }), {
    'client-ca-file': ca.cert,
  })
  const afterExpiryMs = nowMs + 100 * 365 * 86_400_000
  assert.deepEqual(combine(both, both, afterExpiryMs), { 'client-ca-file': '' })
  const names = (list: string): Record<string, string> => ({ 'requestheader-allowed-names': list })
  assert.deepEqual(combine(names('["a","b"]'), names('["b","c"]')), names('["a","b","c"]'))
  assert.deepEqual(combine(names('not JSON'), names('["c"]')), names('["c"]'))
  assert.deepEqual(combine({ other: 'kept' }, {}), { other: 'kept' })
})

test('the ConfigMap is restored when it is changed or deleted', async t => {
  const folder = await temporaryFolder(t)
  const { ca } = await ensureClusterCertificates({ platform, crypto: nodeCrypto(), folder, serverNames: [] })
  const store = await MemoryStore.open({ platform })
  const authentication = { certificates: { authorities: ca.cert } }
  const { request } = await startTestServer(t, platform, { store, authentication })
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
  const published = async (): Promise<unknown> => {
    const { body } = await request('GET', path)
    return part(part(body, 'data') ?? {}, 'client-ca-file')
  }
  assert.equal(await published(), ca.cert)
  const merge = { 'content-type': 'application/merge-patch+json' }
  await request('PATCH', path, { data: { 'client-ca-file': null } }, merge)
  await waitUntil(async () => (await published()) === ca.cert)
  await request('DELETE', path)
  await waitUntil(async () => (await published()) === ca.cert)
})
