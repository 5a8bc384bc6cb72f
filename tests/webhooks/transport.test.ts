/** Connections to webhooks: addressing, TLS verification, and the API server's credentials. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { testCertificates } from '../http/test-certificates.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { configMap, configMaps, startWorld, type Review, type World } from './webhook-server.ts'

async function create({ request }: World, name: string): Promise<string> {
  const { code, body } = await request('POST', configMaps, configMap(name))
  return code < 300 ? 'ok' : `${code} ${body.message ?? ''}`
}

test('a webhook service is called by its DNS name at its resolved address', async t => {
  const world = await startWorld(t)
  const { port } = world.hook
  const { caBundle } = world.hook.clientConfig()
  const service = { namespace: 'default', name: 'hook', port, path: '/a/path' }
  await world.configure('validating', 'c', { clientConfig: { service, caBundle } })
  const services = '/api/v1/namespaces/default/services'
  const made = await world.request('POST', services, {
    metadata: { name: 'hook' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  })
  assert.equal(made.code, 201, made.text)
  await world.request('GET', services)
  assert.equal(await create(world, 'm'), 'ok')
  const [{ path, headers }] = world.hook.asked as [World['hook']['asked'][number]]
  assert.deepEqual([path, headers.host], ['/a/path?timeout=10s', `hook.default.svc:${port}`])
  // The certificate must be valid for the service name, not for the address.
  const other = { ...service, name: 'other' }
  await world.request('POST', services, {
    metadata: { name: 'other' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  })
  await world.configure('validating', 'd', { clientConfig: { service: other, caBundle } })
  assert.match(
    await create(world, 'n'),
    /^500 .*Post "https:\/\/other\.default\.svc:\d+\/a\/path.*": tls: failed to verify certificate: x509: .*other/u,
  )
})

interface Called {
  readonly authority: string
  readonly authorization: string | undefined
  readonly commonName: string | undefined
}

/** An HTTP/2 webhook that allows everything and records its callers. */
async function startHttp2(t: TestContext) {
  const certificates = await testCertificates(t)
  const { cert, key } = certificates.server
  const called: Called[] = []
  const sessions = new Set<unknown>()
  const server = createSecureServer({
    cert,
    key,
    ca: certificates.ca,
    requestCert: true,
    rejectUnauthorized: false,
  })
  server.on('session', session => sessions.add(session))
  server.on('request', (request, response) => {
    const socket = request.stream.session?.socket as TLSSocket
    const { subject } = socket.getPeerCertificate()
    const { ':authority': authority = '', authorization } = request.headers
    called.push({ authority, authorization, commonName: String(subject?.CN) })
    void Array.fromAsync(request).then(pieces => {
      const {
        kind,
        apiVersion,
        request: asked,
      } = JSON.parse(Buffer.concat(pieces as Buffer[]).toString()) as Partial<Review>
      const uid = asked?.['uid']
      response.end(
        JSON.stringify({ kind, apiVersion, response: { uid, allowed: true }, status: { allowed: true } }),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { certificates, called, sessions, port }
}

test('webhook credentials come from a kubeconfig, and connections are reused', async t => {
  const { certificates, called, sessions, port } = await startHttp2(t)
  const folder = await temporaryFolder(t)
  const path = join(folder, 'webhooks.conf')
  const { cert, key } = await certificates.client('caller')
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const user = { 'token': 's3cret', 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
  await writeFile(path, JSON.stringify({ users: [{ name: `127.0.0.1:${port}`, user }] }))
  const configurationFile = join(folder, 'admission.yaml')
  await writeFile(configurationFile, admissionConfiguration(path))
  const world = await startWorld(t, { admission: { configurationFile } })
  const clientConfig = { url: `https://127.0.0.1:${port}/x`, caBundle: base64(certificates.ca) }
  await world.configure('validating', 'c', { clientConfig })
  for (const name of ['a', 'b', 'c']) assert.equal(await create(world, name), 'ok')
  const expected = { authority: `127.0.0.1:${port}`, authorization: 'Bearer s3cret', commonName: 'caller' }
  assert.deepEqual(called, [expected, expected, expected])
  assert.equal(sessions.size, 1)
})

function admissionConfiguration(kubeConfigFile: string): string {
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile,
  }
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [{ name: 'ValidatingAdmissionWebhook', configuration }],
  })
}

test('a server does not start with a kubeconfig for webhooks that cannot be read', async t => {
  const configurationFile = join(await temporaryFolder(t), 'admission.yaml')
  const check = async (kubeConfigFile: string, expected: RegExp): Promise<void> => {
    await writeFile(configurationFile, admissionConfiguration(kubeConfigFile))
    await assert.rejects(startWorld(t, { admission: { configurationFile } }), expected)
  }
  await check('/nowhere/x.conf', /ValidatingAdmissionWebhook: invalid kubeConfigFile: .*file not found/u)
  await check('x.conf', /kubeConfigFile: Invalid value: "x\.conf": must be an absolute file path/u)
})

test('ImagePolicyWebhook calls the server of its kubeconfig', async t => {
  const { certificates, called, port } = await startHttp2(t)
  const folder = await temporaryFolder(t)
  const path = join(folder, 'images.conf')
  const cluster = {
    'server': `https://127.0.0.1:${port}/images`,
    'certificate-authority-data': Buffer.from(certificates.ca).toString('base64'),
  }
  await writeFile(
    path,
    JSON.stringify({
      'current-context': 'c',
      'contexts': [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'clusters': [{ name: 'c', cluster }],
      'users': [{ name: 'u', user: { token: 't' } }],
    }),
  )
  const configurationFile = join(folder, 'admission.yaml')
  const configuration = { imagePolicy: { kubeConfigFile: path, retryBackoff: 1 } }
  await writeFile(
    configurationFile,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AdmissionConfiguration',
      plugins: [{ name: 'ImagePolicyWebhook', configuration }],
    }),
  )
  const world = await startWorld(t, {
    admission: { configurationFile, enable: ['ImagePolicyWebhook'], disable: ['ServiceAccount'] },
  })
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'x' }] } }
  const { code, text } = await world.request('POST', '/api/v1/namespaces/default/pods', pod)
  assert.equal(code, 201, text)
  assert.equal(called[0]!.authorization, 'Bearer t')
})
