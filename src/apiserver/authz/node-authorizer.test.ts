import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import fc from 'fast-check'
import type { Pod } from '#/api/generated/core/v1.ts'
import { encodeForStore } from '../registry/stored-object.ts'
import type { UserInfo } from '../request.ts'
import { stored } from '../test-stored.ts'
import { attributesOf } from './authorizer.ts'
import { nodeIdentity } from './node-authorizer.ts'
import { podReferences } from './node/pod-references.ts'
import { volumeSecrets } from './node/node-graph.ts'
import { readQuestion, startTestCluster, type TestCluster } from './test-cluster.ts'

function node(name: string): UserInfo {
  return { username: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] }
}

/** Writes directly to the store, bypassing pod validation. */
async function put({ registry: { store, cache } }: TestCluster, key: string, object: object): Promise<void> {
  const bytes = encodeForStore(object as KubernetesObject)
  const { written } = await store.create(key, bytes)
  if (!written) await store.update(key, bytes, { expectedRevision: cache.get(key)!.revision })
  await cache.waitForLatest()
}

async function remove({ registry: { store, cache } }: TestCluster, key: string): Promise<void> {
  await store.delete(key, { expectedRevision: cache.get(key)!.revision })
  await cache.waitForLatest()
}

function pod(name: string, nodeName: string | undefined, spec: object, more: object = {}): Pod {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, namespace: 'team' },
    spec: { containers: [], ...(nodeName && { nodeName }), ...spec },
    ...more,
  }
}

const spec = {
  serviceAccountName: 'builder',
  imagePullSecrets: [{ name: 'registry' }],
  volumes: [
    { name: 'a', secret: { secretName: 'certificate' } },
    { name: 'b', configMap: { name: 'settings' } },
    { name: 'c', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'd', ephemeral: {} },
    {
      name: 'e',
      projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'root' } }] },
    },
    { name: 'f', csi: { nodePublishSecretRef: { name: 'mount' } } },
  ],
  initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'first' } }] }],
  containers: [
    { name: 'c', env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'variables', key: 'x' } } }] },
  ],
  ephemeralContainers: [{ name: 'e', envFrom: [{ secretRef: { name: 'debug' } }] }],
  resourceClaims: [
    { name: 'gpu', resourceClaimName: 'gpu' },
    { name: 'made', resourceClaimTemplateName: 't' },
  ],
}
const status = { resourceClaimStatuses: [{ name: 'made', resourceClaimName: 'web-made-1' }] }

const needed = [
  'get secrets team/registry',
  'get secrets team/certificate',
  'get secrets team/projected',
  'get secrets team/mount',
  'get secrets team/first',
  'get secrets team/debug',
  'list secrets team/registry',
  'watch secrets team/registry',
  'get configmaps team/settings',
  'get configmaps team/root',
  'get configmaps team/variables',
  'watch configmaps team/settings',
  'get persistentvolumeclaims team/data',
  'get persistentvolumeclaims team/web-d',
  'update persistentvolumeclaims/status team/data',
  'patch persistentvolumeclaims/status team/data',
  'get resourceclaims.resource.k8s.io team/gpu',
  'get resourceclaims.resource.k8s.io team/web-made-1',
  'get serviceaccounts team/builder',
  'create serviceaccounts/token team/builder',
  'get pods team/web',
  'list pods team/web',
  'watch pods team/web',
]

test('a node can read objects referenced by its pods only', async t => {
  const cluster = await startTestCluster(t)
  for (const question of needed) assert.equal(await cluster.may(node('n1'), question), false, question)
  await put(cluster, '/registry/pods/team/web', pod('web', undefined, spec, { status }))
  for (const question of needed) assert.equal(await cluster.may(node('n1'), question), false, question)
  await put(cluster, '/registry/pods/team/web', pod('web', 'n1', spec, { status }))
  for (const question of needed) {
    assert.equal(await cluster.may(node('n1'), question), true, question)
    assert.equal(await cluster.may(node('n2'), question), false, question)
    assert.equal(await cluster.may(node('n1'), question.replace('team/', 'other/')), false, question)
  }
  await put(
    cluster,
    '/registry/pods/team/second',
    pod('second', 'n1', { imagePullSecrets: [{ name: 'registry' }] }),
  )
  await remove(cluster, '/registry/pods/team/web')
  for (const question of needed) {
    assert.equal(
      await cluster.may(node('n1'), question),
      question.endsWith('secrets team/registry'),
      question,
    )
  }
})

test('a node cannot list or write objects referenced by its pods', async t => {
  const cluster = await startTestCluster(t)
  await put(cluster, '/registry/pods/team/web', pod('web', 'n1', spec, { status }))
  const check = async (question: string, reason: string): Promise<void> => {
    const answer = await cluster.authorizer.authorize(readQuestion(node('n1'), question))
    assert.deepEqual(answer, { decision: 'no opinion', reason }, question)
  }
  const unrelated = "no relationship found between node 'n1' and this object"
  await check('get secrets team/other', unrelated)
  await check('list secrets team/', 'No Object name found')
  await check('list secrets', 'can only read namespaced object of this type')
  await check('update secrets team/registry', 'can only read resources of this type')
  await check('get secrets/x team/registry', 'cannot read subresource')
  await check('list persistentvolumeclaims team/data', 'can only get individual resources of this type')
  await check('get persistentvolumeclaims/status team/data', 'can only get/update/patch this type')
  await check('update persistentvolumeclaims/status team/other', unrelated)
  await check('get persistentvolumes x', unrelated)
  await check('create serviceaccounts/token team/other', unrelated)
  await check('create serviceaccounts team/', 'can only create tokens for individual service accounts')
  await check('create serviceaccounts/x team/builder', 'can only create token subresource of serviceaccount')
  await check('list serviceaccounts team/', 'can only create tokens for individual service accounts')
  await check('get pods team/other', unrelated)
  await check('list pods team/', 'can only list/watch pods with spec.nodeName field selector')
  await check('update pods team/web', '')
  await check('get pods/log team/web', '')
  await check('get nodes n2', "node 'n1' cannot read 'n2', only its own Node object")
  await check('list nodes', "node 'n1' cannot read all nodes, only its own Node object")
  await check('delete nodes n1', '')
  await check(
    'get leases.coordination.k8s.io kube-system/n1',
    'can only access leases in the "kube-node-lease" system namespace',
  )
  await check(
    'get leases.coordination.k8s.io kube-node-lease/n2',
    'can only access node lease with the same name as the requesting node',
  )
  await check(
    'list leases.coordination.k8s.io kube-node-lease/',
    'can only get, create, update, patch, or delete a node lease',
  )
  await check(
    'update csinodes.storage.k8s.io n2',
    'can only access CSINode with the same name as the requesting node',
  )
  await check(
    'list resourceslices.resource.k8s.io',
    'can only list/watch/deletecollection resourceslices with nodeName field selector',
  )
  await check('get resourceslices.resource.k8s.io x', unrelated)
  await check('create podcertificaterequests.certificates.k8s.io team/', '')
  assert.deepEqual(await cluster.authorizer.authorize(readQuestion(node(''), 'get nodes n1')), {
    decision: 'no opinion',
    reason: 'unknown node for user "system:node:"',
  })
})

test('a node can do what the node role and its own objects allow', async t => {
  const cluster = await startTestCluster(t)
  const allowed = [
    'get nodes n1',
    'list nodes n1',
    'watch nodes n1',
    'create nodes',
    'update nodes n1',
    'patch nodes/status n1',
    'create pods team/',
    'delete pods team/x',
    'patch pods/status team/x',
    'create pods/eviction team/x',
    'get leases.coordination.k8s.io kube-node-lease/n1',
    'create leases.coordination.k8s.io kube-node-lease/',
    'delete csinodes.storage.k8s.io n1',
    'create csinodes.storage.k8s.io',
    'create resourceslices.resource.k8s.io',
    'list services',
    'watch runtimeclasses.node.k8s.io',
    'list csidrivers.storage.k8s.io',
    'create events team/',
    'create tokenreviews.authentication.k8s.io',
    'create subjectaccessreviews.authorization.k8s.io',
    'create certificatesigningrequests.certificates.k8s.io',
    'get endpoints team/x',
    'get /api',
    'get /healthz',
  ]
  for (const question of allowed) assert.equal(await cluster.may(node('n1'), question), true, question)
  const refused = [
    'delete services team/x',
    'list deployments.apps',
    'get pods/exec team/x',
    'get /metrics',
    'update services/status team/x',
  ]
  for (const question of refused) assert.equal(await cluster.may(node('n1'), question), false, question)
  const outsider: UserInfo = { username: 'system:node:n1', groups: ['system:authenticated'] }
  assert.equal(await cluster.may(outsider, 'get nodes n1'), false)
  assert.equal(nodeIdentity({ username: 'n1', groups: ['system:nodes'] }), undefined)
})

test('a node can list pods only with its spec.nodeName selector', async t => {
  const { authorizer } = await startTestCluster(t)
  const check = async (url: string, expected: boolean): Promise<void> => {
    const [path = '', query] = url.split('?')
    const resource = path.split('/').at(-1)!
    const group = resource === 'pods' ? '' : 'resource.k8s.io'
    const info = {
      isResource: true,
      verb: 'list',
      path,
      group,
      version: 'v1',
      resource,
      namespace: '',
      subresource: '',
      name: '',
      rest: '',
      isWatchPath: false,
    } as const
    const { decision } = await authorizer.authorize(
      attributesOf(node('n1'), info, new URLSearchParams(query)),
    )
    assert.equal(decision === 'allow', expected, url)
  }
  await check('/pods?fieldSelector=spec.nodeName%3Dn1', true)
  await check('/pods?fieldSelector=status.phase!%3DFailed,spec.nodeName%3D%3Dn1', true)
  await check('/pods?fieldSelector=spec.nodeName%3Dn2', false)
  await check('/pods?fieldSelector=spec.nodeName!%3Dn1', false)
  await check('/pods?fieldSelector=spec.nodeName', false)
  await check('/pods?labelSelector=spec.nodeName%3Dn1', false)
  await check('/pods', false)
  await check('/resourceslices?fieldSelector=spec.nodeName%3Dn1', true)
  await check('/resourceslices?fieldSelector=spec.driver%3Dn1', false)
})

test("a node can read the volumes of its pods' claims and their secrets", async t => {
  const cluster = await startTestCluster(t)
  const volume = (claim: string): object => ({
    kind: 'PersistentVolume',
    apiVersion: 'v1',
    metadata: { name: 'disk' },
    spec: {
      claimRef: { namespace: 'team', name: claim },
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        nodeStageSecretRef: { namespace: 'storage', name: 'stage' },
        controllerExpandSecretRef: { namespace: 'storage', name: 'expand' },
      },
    },
  })
  const check = async (expected: boolean): Promise<void> => {
    assert.equal(await cluster.may(node('n1'), 'get persistentvolumes disk'), expected)
    assert.equal(await cluster.may(node('n1'), 'get secrets storage/stage'), expected)
    assert.equal(await cluster.may(node('n1'), 'get secrets storage/expand'), false)
    assert.equal(await cluster.may(node('n2'), 'get persistentvolumes disk'), false)
  }
  await put(cluster, '/registry/persistentvolumes/disk', volume('data'))
  await check(false)
  await put(cluster, '/registry/pods/team/web', pod('web', 'n1', spec))
  await check(true)
  await put(cluster, '/registry/persistentvolumes/disk', volume('other'))
  await check(false)
  await put(cluster, '/registry/persistentvolumes/disk', volume('data'))
  await check(true)
  await remove(cluster, '/registry/persistentvolumes/disk')
  await check(false)
})

test('a node can read only VolumeAttachments and ResourceSlices that name it', async t => {
  const cluster = await startTestCluster(t)
  const named = (nodeName: string): object => ({ metadata: { name: 'x' }, spec: { nodeName } })
  await put(cluster, '/registry/volumeattachments/x', named('n1'))
  await put(cluster, '/registry/resourceslices/x', named('n1'))
  for (const [who, expected] of [
    [node('n1'), true],
    [node('n2'), false],
  ] as const) {
    assert.equal(await cluster.may(who, 'get volumeattachments.storage.k8s.io x'), expected)
    assert.equal(await cluster.may(who, 'get resourceslices.resource.k8s.io x'), expected)
    assert.equal(await cluster.may(who, 'delete resourceslices.resource.k8s.io x'), expected)
  }
  await put(cluster, '/registry/resourceslices/x', named('n2'))
  assert.equal(await cluster.may(node('n1'), 'get resourceslices.resource.k8s.io x'), false)
})

test('a mirror pod gives its node no access to references', async t => {
  const cluster = await startTestCluster(t)
  const metadata = { name: 'web', namespace: 'team', annotations: { 'kubernetes.io/config.mirror': 'x' } }
  await put(cluster, '/registry/pods/team/web', pod('web', 'n1', spec, { metadata }))
  assert.equal(await cluster.may(node('n1'), 'get pods team/web'), true)
  assert.equal(await cluster.may(node('n1'), 'get secrets team/registry'), false)
  assert.equal(await cluster.may(node('n1'), 'create serviceaccounts/token team/builder'), false)
})

test("later ephemeral containers and claims extend a node's access", async t => {
  const cluster = await startTestCluster(t)
  const { ephemeralContainers, ...before } = spec
  await put(cluster, '/registry/pods/team/web', pod('web', 'n1', before))
  assert.equal(await cluster.may(node('n1'), 'get secrets team/debug'), false)
  assert.equal(await cluster.may(node('n1'), 'get resourceclaims.resource.k8s.io team/web-made-1'), false)
  await put(cluster, '/registry/pods/team/web', pod('web', 'n1', { ...before, ephemeralContainers }))
  assert.equal(await cluster.may(node('n1'), 'get secrets team/debug'), true)
  await put(
    cluster,
    '/registry/pods/team/web',
    pod('web', 'n1', before, {
      status: { ...status, extendedResourceClaimStatus: { resourceClaimName: 'extended' } },
    }),
  )
  assert.equal(await cluster.may(node('n1'), 'get resourceclaims.resource.k8s.io team/web-made-1'), true)
  assert.equal(await cluster.may(node('n1'), 'get resourceclaims.resource.k8s.io team/extended'), true)
})

test('the rules of a node are incomplete', async t => {
  const { authorizer } = await startTestCluster(t)
  const { incomplete, errors } = authorizer.rulesFor(node('n1'), 'team')
  assert.equal(incomplete, true)
  assert.deepEqual(errors, ['node authorizer does not support user rule resolution'])
  assert.equal(authorizer.rulesFor({ username: 'eve', groups: [] }, 'team').incomplete, false)
})

test('secret references of every pod volume type are found', () => {
  const secretRef = { name: 's' }
  for (const source of [
    { azureFile: { secretName: 's' } },
    { cephfs: { secretRef } },
    { cinder: { secretRef } },
    { flexVolume: { secretRef } },
    { iscsi: { secretRef } },
    { rbd: { secretRef } },
    { scaleIO: { secretRef } },
    { storageos: { secretRef } },
    { secret: { secretName: 's' } },
    { csi: { nodePublishSecretRef: { name: 's' } } },
  ]) {
    const keys = podReferences(stored(pod('p', 'n', { volumes: [{ name: 'v', ...source }] })))
    assert.deepEqual([...keys], ['secrets/team/s'], JSON.stringify(source))
  }
})

test('secret references of every persistent volume type are found', () => {
  const claimRef = { namespace: 'c', name: 'x' }
  const check = (source: object, ...keys: readonly string[]): void => {
    assert.deepEqual(
      volumeSecrets({ metadata: {}, spec: { claimRef, ...source } }),
      keys,
      JSON.stringify(source),
    )
  }
  for (const kind of ['cephfs', 'flexVolume', 'iscsi', 'rbd', 'scaleIO']) {
    check({ [kind]: { secretRef: { name: 's' } } }, 'secrets/c/s')
    check({ [kind]: { secretRef: { name: 's', namespace: 'd' } } }, 'secrets/d/s')
  }
  check({ azureFile: { secretName: 's' } }, 'secrets/c/s')
  check({ azureFile: { secretName: 's', secretNamespace: 'd' } }, 'secrets/d/s')
  for (const kind of ['cinder', 'storageos']) {
    check({ [kind]: { secretRef: { name: 's', namespace: 'd' } } }, 'secrets/d/s')
  }
  const reference = (name: string): object => ({ name, namespace: 'd' })
  check(
    {
      csi: {
        nodePublishSecretRef: reference('a'),
        nodeStageSecretRef: reference('b'),
        nodeExpandSecretRef: reference('c'),
        controllerPublishSecretRef: reference('d'),
        controllerExpandSecretRef: reference('e'),
      },
    },
    'secrets/d/a',
    'secrets/d/b',
    'secrets/d/c',
  )
  check({ claimRef: undefined, azureFile: { secretName: 's' } })
})

test('the node graph agrees with a full scan after random changes', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true })
  const names = ['s1', 's2', 's3']
  const nodes = ['n1', 'n2', '']
  const anyPods = fc.array(
    fc.record({
      name: fc.constantFrom('p1', 'p2', 'p3'),
      on: fc.constantFrom(...nodes),
      secrets: fc.subarray(names),
    }),
    { maxLength: 8 },
  )
  await fc.assert(
    fc.asyncProperty(anyPods, async changes => {
      for (const { name, on, secrets } of changes) {
        const key = `/registry/pods/team/${name}`
        const isDeletion = secrets.length === 0 && cluster.registry.cache.get(key)
        if (isDeletion) await remove(cluster, key)
        else
          await put(cluster, key, pod(name, on, { imagePullSecrets: secrets.map(each => ({ name: each })) }))
        const pods = [...cluster.registry.cache.list('/registry/pods/team/')].map(
          ({ object }) => object as Pod,
        )
        for (const secret of names) {
          const expected = pods.some(({ spec }) => {
            return spec?.nodeName === 'n1' && spec.imagePullSecrets?.some(each => each.name === secret)
          })
          assert.equal(await cluster.may(node('n1'), `get secrets team/${secret}`), expected)
        }
      }
    }),
    { numRuns: 50 },
  )
})
