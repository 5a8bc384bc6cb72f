/** A custom sidecar injector: as an initializer against a real server, and as a webhook. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { pods, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { Informer } from '#/client/informer.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { TransportError } from '#/client/transport.ts'
import { connectHttp } from '#/platform/node.ts'
import { openClient, platform } from '../apiserver/open-client.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { post, stop, up, type Running } from '../up/process.ts'
import { patchWith, rule, startWorld, type Review } from '../webhooks/webhook-server.ts'
import { asking, injected, injectorName, namesIn, podFor, runInjector } from './sidecar-injector.ts'

const configurations = '/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations'
const withSidecar = { containers: 'web proxy', volumes: 'proxy-config' }
const asItWas = { containers: 'web', volumes: '' }

interface Scene {
  readonly cluster: Running
  readonly admin: Client
  /** Has the rights of an injector. */
  readonly injector: Client
  /** May manage pods, but not initializers. */
  readonly developer: Client
}

async function startScene(t: TestContext): Promise<Scene> {
  const folder = await temporaryFolder(t)
  const data = join(folder, 'data')
  await writeFile(join(folder, 'tokens'), 'i,injector,1\nd,developer,2\n')
  const flags = `--store memory --token-auth-file ${folder}/tokens --enable-admission-plugins=Initializers`
  const cluster = await up(t, data, flags)
  const kubeconfig = join(data, 'admin.conf')
  const admin = await openClient(t, { kubeconfig })
  await admin.create(serviceAccounts, { metadata: { namespace: 'default', name: 'default' } })
  await allow(admin, 'injector', ['get', 'list', 'watch', 'update', 'initialize'])
  await allow(admin, 'developer', ['get', 'list', 'watch', 'create', 'update', 'delete'])
  const injector = await clientWith(t, kubeconfig, 'i')
  const developer = await clientWith(t, kubeconfig, 'd')
  const configured = await post(cluster, configurations, {
    metadata: { name: 'sidecar' },
    initializers: [
      { name: injectorName, rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }] },
    ],
  })
  assert.equal(configured.status, 201, configured.text)
  return { cluster, admin, injector, developer }
}

async function allow(admin: Client, name: string, verbs: readonly string[]): Promise<void> {
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs }]
  await admin.create(clusterRoles, { metadata: { name }, rules })
  await admin.create(clusterRoleBindings, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
  })
}

async function clientWith(t: TestContext, kubeconfig: string, token: string): Promise<Client> {
  const sources = { explicitPath: kubeconfig, environment: {}, workingFolder: '/' }
  const settings = settingsOf(await loadKubeconfig(platform, sources))!
  const user = { token: { data: token } }
  const transport = await openConnection({ platform, connect: connectHttp, settings: { ...settings, user } })
  t.after(() => transport[Symbol.asyncDispose]())
  return clientOf({ platform, transport, userAgent: 'test' })
}

test('a sidecar injector as an initializer completes pods before they are visible', async t => {
  const { cluster, injector, developer } = await startScene(t)
  const stopping = new AbortController()
  const seen: Pod[] = []
  const informer = new Informer({ client: developer, platform, resource: pods })
  informer.addEventHandler((_key, { newObject }) => void (newObject && seen.push(newObject)))
  const watching = informer.run(stopping.signal)
  await informer.waitForSync(stopping.signal)
  // The injector starts late: the first pod waits for it.
  const early = developer.create(pods, podFor('early', asking))
  await waitForHidden(developer, 'early')
  await assert.rejects(developer.get(pods, { namespace: 'default', name: 'early' }), error =>
    isApiError(error, 'NotFound'),
  )
  const running = runInjector(injector, platform, stopping.signal)
  assert.deepEqual(namesIn(await early), withSidecar)
  const many = Array.from({ length: 20 }, (_, index) =>
    developer.create(pods, podFor(`p${index}`, index % 2 === 0 ? asking : {})),
  )
  for (const [index, pod] of (await Promise.all(many)).entries()) {
    assert.deepEqual(namesIn(pod), index % 2 === 0 ? withSidecar : asItWas)
    assert.equal('initializers' in pod.metadata, false)
  }
  assert.equal((await developer.list(pods, { namespace: 'default' })).items.length, 21)
  stopping.abort()
  await Promise.all([running, watching])
  // An ordinary watch never sees a partly initialized pod.
  assert.deepEqual([...new Set(seen.map(pod => 'initializers' in pod.metadata))], [false])
  assert.equal(await stop(cluster, 'SIGTERM'), 0)
})

async function waitForHidden(client: Client, name: string): Promise<Pod> {
  const options = { namespace: 'default', includeUninitialized: true }
  for await (const { object } of client.watch(pods, options)) {
    if (object.metadata.name === name) return object as Pod
  }
  throw new Error(`${name} did not come`)
}

test('only its initializer may update a waiting pod, and a stopping server ends the request', async t => {
  const { cluster, admin, injector, developer } = await startScene(t)
  const waiting = developer.create(pods, podFor('a', asking)).catch((error: unknown) => error)
  const pod = await waitForHidden(developer, 'a')
  const freed = { ...pod, metadata: { ...pod.metadata, initializers: null } } as Pod
  await assert.rejects(developer.update(pods, freed), error => isApiError(error, 'Forbidden'))
  await assert.rejects(
    developer.create(pods, { ...freed, metadata: { ...podFor('b').metadata, ...free } }),
    error => isApiError(error, 'Forbidden'),
  )
  assert.deepEqual(namesIn(await injector.update(pods, freed)), asItWas)
  assert.deepEqual(namesIn((await waiting) as Pod), asItWas)
  // An administrator may skip initialization.
  const spared = { ...podFor('c'), metadata: { ...podFor('c').metadata, ...free } }
  assert.deepEqual(namesIn(await admin.create(pods, spared)), asItWas)
  const deleted = developer.create(pods, podFor('d')).catch((error: unknown) => error)
  await waitForHidden(developer, 'd')
  await developer.delete(pods, { namespace: 'default', name: 'd' })
  assert.match(String(await deleted), /object deleted while waiting for creation/u)
  const left = developer.create(pods, podFor('e')).catch((error: unknown) => error)
  await waitForHidden(developer, 'e')
  assert.equal(await stop(cluster, 'SIGTERM'), 0)
  const error = await left
  assert.ok(error instanceof TransportError && error.reason === 'interrupted', String(error))
})

const free = { initializers: { pending: [] } }

test('a sidecar injector as a mutating webhook completes pods', async t => {
  const { answers, configure, hook, request } = await startWorld(t)
  answers.set('inject', ({ request: { object } }: Review) => {
    const pod = object as unknown as Pod
    const { spec } = injected(pod)
    return spec === pod.spec ? { allowed: true } : patchWith({ op: 'replace', path: '/spec', value: spec })
  })
  await configure('mutating', 'sidecar', {
    name: injectorName,
    clientConfig: hook.clientConfig('inject'),
    rules: [rule('pods', ['CREATE'])],
  })
  for (const [name, annotations, expected] of [
    ['a', asking, withSidecar],
    ['b', {}, asItWas],
  ] as const) {
    const { body } = await request('POST', '/api/v1/namespaces/default/pods', podFor(name, annotations))
    assert.deepEqual(namesIn(body as unknown as Pod), expected)
  }
})
