import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { serviceAccount } from './service-account.ts'
import {
  account,
  container,
  namespace,
  pod,
  pods,
  serviceAccounts,
  startWith,
  type PluginServer,
} from '../testdata/plugin-server.ts'

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

async function startWithDefault(
  t: Parameters<typeof startWith>[0],
  fields: object = {},
): Promise<PluginServer> {
  const server = await startWith(t, serviceAccount)
  await server.given(serviceAccounts, account('default', fields))
  return server
}

test('ServiceAccount: a pod gets the default account and its token volume', async t => {
  const { admitted } = await startWithDefault(t)
  const { spec } = (await admitted(
    pods,
    pod('p', { initContainers: [container({ name: 'i' })] }),
  )) as never as { spec: PodSpec }
  assert.deepEqual([spec.serviceAccountName, spec.serviceAccount], ['default', 'default'])
  const [volume] = spec.volumes
  assert.match(volume!.name, /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/u)
  assert.deepEqual(volume!.projected, {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3_607 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
  })
  const mounts = [{ name: volume!.name, readOnly: true, mountPath }]
  assert.deepEqual(
    [...spec.containers, ...spec.initContainers].map(each => each.volumeMounts),
    [mounts, mounts],
  )
})

test('ServiceAccount: existing mounts and token volumes are kept', async t => {
  const { admitted } = await startWithDefault(t)
  const busy = {
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [container({ volumeMounts: [{ name: 'v', mountPath }] })],
  }
  const occupied = (await admitted(pods, pod('occupied', busy))) as never as { spec: PodSpec }
  assert.deepEqual(
    occupied.spec.volumes.map(volume => volume.name),
    ['v'],
  )
  const prepared = { volumes: [{ name: 'kube-api-access-mine', emptyDir: {} }] }
  const { spec } = (await admitted(pods, pod('prepared', prepared))) as never as { spec: PodSpec }
  assert.deepEqual(
    spec.volumes.map(volume => volume.name),
    ['kube-api-access-mine'],
  )
  assert.deepEqual(spec.containers[0]!.volumeMounts, [
    { name: 'kube-api-access-mine', readOnly: true, mountPath },
  ])
})

test('ServiceAccount: automountServiceAccountToken of the pod overrides that of the account', async t => {
  const check = async (
    ofAccount: boolean | undefined,
    ofPod: boolean | undefined,
    expected: boolean,
  ): Promise<void> => {
    const { admitted } = await startWithDefault(
      t,
      ofAccount === undefined ? {} : { automountServiceAccountToken: ofAccount },
    )
    const spec = ofPod === undefined ? {} : { automountServiceAccountToken: ofPod }
    const body = (await admitted(pods, pod('p', spec))) as never as { spec: PodSpec }
    assert.equal(body.spec.volumes?.length === 1, expected, `account ${ofAccount}, pod ${ofPod}`)
  }
  await check(undefined, undefined, true)
  await check(false, undefined, false)
  await check(false, true, true)
  await check(true, false, false)
  await check(true, undefined, true)
})

test('ServiceAccount: a pod gets the imagePullSecrets of its account unless it has its own', async t => {
  const { admitted } = await startWithDefault(t, { imagePullSecrets: [{ name: 'registry' }] })
  assert.deepEqual((await admitted(pods, pod('p')))['spec']['imagePullSecrets'], [{ name: 'registry' }])
  const own = await admitted(pods, pod('q', { imagePullSecrets: [{ name: 'own' }] }))
  assert.deepEqual(own['spec']['imagePullSecrets'], [{ name: 'own' }])
})

test("ServiceAccount: the account must exist in the pod's namespace", async t => {
  const { create, given } = await startWithDefault(t)
  const message = (name: string): string =>
    `403 pods "p" is forbidden: error looking up service account default/${name}: serviceaccount "${name}" not found`
  assert.equal(await create(pods, pod('p', { serviceAccountName: 'x' })), message('x'))
  await given('/api/v1/namespaces', namespace('other'))
  await given('/api/v1/namespaces/other/serviceaccounts', account('x'))
  assert.equal(await create(pods, pod('p', { serviceAccountName: 'x' })), message('x'))
  await given(serviceAccounts, account('x'))
  assert.equal(await create(pods, pod('p', { serviceAccount: 'x' })), 'ok')
})

test('ServiceAccount: waits a bounded time for the default account of a new namespace', async t => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('server')
  await simulation.run(
    (async () => {
      const { create, request } = await startWith(t, serviceAccount, { platform })
      const waiting = create(pods, pod('p'))
      await platform.clock.sleep(450)
      await request('POST', serviceAccounts, account('default'))
      assert.equal(await waiting, 'ok')
      assert.match(
        await create('/api/v1/namespaces/kube-system/pods', pod('p')),
        /^403 .*serviceaccount "default" not found$/u,
      )
    })(),
  )
})

test('ServiceAccount: a mirror pod has no account and no secrets', async t => {
  const { create } = await startWithDefault(t)
  const annotations = { 'kubernetes.io/config.mirror': 'x' }
  const check = async (name: string, spec: object, expected: string): Promise<void> => {
    const text = await create(pods, pod(name, { nodeName: 'n', ...spec }, { annotations }))
    assert.equal(
      text,
      expected === 'ok' ? 'ok' : `403 pods "${name}" is forbidden: a mirror pod may not ${expected}`,
    )
  }
  const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] })
  await check('a', {}, 'ok')
  await check('b', { serviceAccountName: 'default' }, 'reference service accounts')
  await check('c', volume({ secret: { secretName: 's' } }), 'reference secrets')
  await check('d', { imagePullSecrets: [{ name: 's' }] }, 'reference secrets')
  await check(
    'e',
    { containers: [container({ envFrom: [{ secretRef: { name: 's' } }] })] },
    'reference secrets',
  )
  await check('f', volume({ projected: { sources: [{ secret: { name: 's' } }] } }), 'reference secrets')
  const token = { serviceAccountToken: { path: 't', expirationSeconds: 600 } }
  await check('g', volume({ projected: { sources: [token] } }), 'use ServiceAccountToken volume projections')
})

test('ServiceAccount: enforces mountable secrets for every reference (CVE-2023-2728, CVE-2024-3177)', async t => {
  const server = await startWith(t, serviceAccount)
  const metadata = { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } }
  const fields = { secrets: [{ name: 'good' }], imagePullSecrets: [{ name: 'pull' }] }
  await server.given(serviceAccounts, account('default', fields, metadata))
  const check = async (name: string, spec: object, expected: string): Promise<void> => {
    assert.equal(
      await server.create(pods, pod(name, spec)),
      expected === 'ok'
        ? 'ok'
        : `403 pods "${name}" is forbidden: ${expected} is not allowed because ` +
            'service account default does not reference that secret',
    )
  }
  const variable = (secret: string): object => ({
    name: 'V',
    valueFrom: { secretKeyRef: { name: secret, key: 'k' } },
  })
  const secret = 'referencing secret.secretName="bad"'
  await check(
    'a',
    { volumes: [{ name: 'v', secret: { secretName: 'bad' } }] },
    'volume with secret.secretName="bad"',
  )
  await check('b', { volumes: [{ name: 'v', secret: { secretName: 'good' } }] }, 'ok')
  await check(
    'c',
    { containers: [container({ env: [variable('bad')] })] },
    `container a with envVar V ${secret}`,
  )
  await check('d', { containers: [container({ env: [variable('good')] })] }, 'ok')
  await check(
    'e',
    { containers: [container({ envFrom: [{ secretRef: { name: 'bad' } }] })] },
    `container a with envFrom ${secret}`,
  )
  const init = { initContainers: [container({ name: 'i', envFrom: [{ secretRef: { name: 'bad' } }] })] }
  await check('f', init, `init container i with envFrom ${secret}`)
  assert.equal(
    await server.create(pods, pod('g', { imagePullSecrets: [{ name: 'bad' }] })),
    '403 pods "g" is forbidden: imagePullSecrets[0].name="bad" is not allowed because ' +
      'service account default does not reference that imagePullSecret',
  )
  const debug = (source: object): Promise<string> =>
    server.patch(`${pods}/b/ephemeralcontainers`, {
      spec: { ephemeralContainers: [container({ name: 'd', ...source })] },
    })
  assert.match(
    await debug({ env: [variable('bad')] }),
    /^403 .*: ephemeral container d with envVar V referencing secret/u,
  )
  assert.match(
    await debug({ envFrom: [{ secretRef: { name: 'bad' } }] }),
    /^403 .*: ephemeral container d with envFrom referencing/u,
  )
  assert.equal(await debug({ env: [variable('good')] }), 'ok')
})

interface PodSpec {
  readonly serviceAccountName: string
  readonly serviceAccount: string
  readonly volumes: readonly { readonly name: string; readonly projected?: object }[]
  readonly containers: readonly { readonly volumeMounts: readonly object[] }[]
  readonly initContainers: readonly { readonly volumeMounts: readonly object[] }[]
}
