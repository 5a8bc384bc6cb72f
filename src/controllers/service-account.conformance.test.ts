/** The conformance tests of service accounts that need no containers, written from their descriptions. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TokenRequest } from '#/api/generated/authentication/v1.ts'
import { tokenReviews } from '#/api/generated/authentication/v1-resources.ts'
import { configMaps, namespaces, pods, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { Simulation } from '#/platform/simulated.ts'
import { rootCaPublisherController } from './root-ca-publisher.ts'
import { serviceAccountController } from './service-account.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' })

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  const controllers = [serviceAccountController, rootCaPublisherController({ caCertificate: 'PEM' })]
  return startTestControlPlane(t, controllers, {
    admission: await readAdmission(new Simulation({ seed: 1 }).host('files').files, {}),
    authentication: { serviceAccounts: { url: 'https://cluster.test', signingKey } },
  })
}

const at = { namespace: 'default', name: 'web' }

test('a requested token authenticates to the API server', async t => {
  const plane = await start(t)
  await plane.create(serviceAccounts, { metadata: at })
  const request: TokenRequest = { metadata: {}, spec: { audiences: [], expirationSeconds: 3_600 } }
  const made = await plane.run(
    plane.client.createSubresource(serviceAccounts, { ...at, subresource: 'token' }, request),
  )
  const { token = '' } = (made as TokenRequest).status ?? {}
  assert.notEqual(token, '')
  const { status } = await plane.create(tokenReviews, { metadata: {}, spec: { token } })
  assert.equal(status?.authenticated, true)
  assert.equal(status.error, undefined)
  assert.equal(status.user?.username, 'system:serviceaccount:default:web')
})

test('every namespace has kube-root-ca.crt; it is recreated and corrected', async t => {
  const plane = await start(t)
  await plane.create(namespaces, { metadata: { name: 'new' } })
  const name = 'kube-root-ca.crt'
  const data = async (): Promise<unknown> => {
    return (await plane.run(plane.client.get(configMaps, { namespace: 'new', name }))).data
  }
  assert.deepEqual(await data(), { 'ca.crt': 'PEM' })
  await plane.run(plane.client.delete(configMaps, { namespace: 'new', name }))
  await plane.settle()
  assert.deepEqual(await data(), { 'ca.crt': 'PEM' })
  await plane.change(configMaps, `new/${name}`, map => ({ ...map, data: { 'ca.crt': '' } }))
  assert.deepEqual(await data(), { 'ca.crt': 'PEM' })
})

test('service account lifecycle: create, patch, list, update, delete', async t => {
  const plane = await start(t)
  const seen: string[] = []
  const watching = (async () => {
    for await (const { type, object } of plane.client.watch(serviceAccounts, {
      labelSelector: 'test=static',
    })) {
      seen.push(`${type} ${object.metadata.name}`)
      if (type === 'DELETED') return
    }
  })()
  await plane.create(serviceAccounts, { metadata: { ...at, labels: { test: 'static' } } })
  const patch = { automountServiceAccountToken: false }
  await plane.run(plane.client.patch(serviceAccounts, at, { type: 'merge', patch }))
  const listed = await plane.run(plane.client.list(serviceAccounts, { labelSelector: 'test=static' }))
  assert.deepEqual(
    listed.items.map(each => each.automountServiceAccountToken),
    [false],
  )
  const updated = await plane.change(serviceAccounts, 'default/web', account => ({
    ...account,
    automountServiceAccountToken: true,
  }))
  assert.equal(updated.automountServiceAccountToken, true)
  await plane.run(
    plane.client.deleteCollection(serviceAccounts, { namespace: 'default', labelSelector: 'test=static' }),
  )
  await plane.run(watching)
  assert.deepEqual(seen, ['ADDED web', 'MODIFIED web', 'MODIFIED web', 'DELETED web'])
})

test('a pod mounts a token unless it or its service account disables it', async t => {
  const plane = await start(t)
  const accounts = { mount: true, nomount: false, default: undefined }
  for (const [name, mounts] of Object.entries(accounts)) {
    if (name === 'default') continue
    const wish = mounts === undefined ? {} : { automountServiceAccountToken: mounts }
    await plane.create(serviceAccounts, { metadata: { namespace: 'default', name }, ...wish })
  }
  const check = async (
    account: keyof typeof accounts,
    pod: boolean | undefined,
    expected: boolean,
  ): Promise<void> => {
    const name = `${account}-${String(pod)}`
    const made = await plane.create(pods, {
      metadata: { namespace: 'default', name },
      spec: {
        containers: [{ name: 'a', image: 'a' }],
        serviceAccountName: account,
        ...(pod !== undefined && { automountServiceAccountToken: pod }),
      },
    })
    const mounts = made.spec?.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath) ?? []
    assert.equal(mounts.includes('/var/run/secrets/kubernetes.io/serviceaccount'), expected, name)
  }
  await check('default', undefined, true)
  await check('mount', undefined, true)
  await check('nomount', undefined, false)
  for (const account of ['default', 'mount', 'nomount'] as const) {
    await check(account, true, true)
    await check(account, false, false)
  }
})
