import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { UserInfo } from '../../request.ts'
import { AdmissionChain, type AdmissionAttributes } from '../admission-chain.ts'
import { nodeRestriction } from './node-restriction.ts'
import { jane, nodeMine, nodeOther } from '../testdata/certificate-requests.ts'
import {
  account,
  container,
  node,
  outcome,
  pod,
  pods,
  serviceAccounts,
  startWith,
  type PluginServer,
} from '../testdata/plugin-server.ts'

/** A node user that the authorizer allows everything, so that only the plugin rejects requests. */
const nodeUser = (name: string): UserInfo => ({
  username: `system:node:${name}`,
  groups: ['system:nodes', 'system:masters'],
})

interface Nodes extends PluginServer {
  /** Sends a request as the node `mine`. */
  readonly mine: (...args: Parameters<PluginServer['request']>) => Promise<string>
  readonly uid: string
}

async function start(t: Parameters<typeof startWith>[0]): Promise<Nodes> {
  const server = await startWith(t, nodeRestriction)
  const { metadata } = (await server.given('/api/v1/nodes', node('mine'))) as never as {
    metadata: { uid: string }
  }
  const request = server.as(nodeUser('mine'))
  return { ...server, uid: metadata.uid, mine: async (...args) => outcome(await request(...args)) }
}

const merge = { 'content-type': 'application/merge-patch+json' }

/** A mirror pod of the node `mine`. */
function mirror(name: string, uid: string, spec: object = {}, metadata: object = {}): object {
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'mine', uid, controller: true }
  return pod(
    name,
    { nodeName: 'mine', ...spec },
    {
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [owner],
      ...metadata,
    },
  )
}

test('NodeRestriction: a node can create only mirror pods bound to itself', async t => {
  const { mine, uid } = await start(t)
  const check = async (object: object, expected: string): Promise<void> => {
    const {
      metadata: { name },
    } = object as { metadata: { name: string } }
    assert.equal(
      await mine('POST', pods, object),
      expected === 'ok' ? 'ok' : `403 pods "${name}" is forbidden: ${expected}`,
    )
  }
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'mine', uid, controller: true }
  const withOwners = (name: string, ...ownerReferences: readonly object[]): object =>
    mirror(name, uid, {}, { ownerReferences })
  await check(mirror('a', uid), 'ok')
  await check(
    pod('b', { nodeName: 'mine' }),
    'pod does not have "kubernetes.io/config.mirror" annotation, node "mine" can only create mirror pods',
  )
  await check(
    mirror('c', uid, { nodeName: 'other' }),
    'node "mine" can only create pods with spec.nodeName set to itself',
  )
  await check(withOwners('d'), 'node "mine" can only create pods with an owner reference set to itself')
  await check(
    withOwners('e', owner, { ...owner, uid: 'x' }),
    'node "mine" can only create pods with a single owner reference set to itself',
  )
  await check(
    withOwners('f', { ...owner, name: 'other' }),
    'node "mine" can only create pods with an owner reference set to itself',
  )
  await check(
    withOwners('g', { ...owner, kind: 'Pod' }),
    'node "mine" can only create pods with an owner reference set to itself',
  )
  await check(
    withOwners('h', { ...owner, controller: false }),
    'node "mine" can only create pods with a controller owner reference set to itself',
  )
  await check(
    withOwners('i', { ...owner, blockOwnerDeletion: true }),
    'node "mine" must not set blockOwnerDeletion on an owner reference',
  )
  await check(withOwners('j', { ...owner, uid: 'old' }), `node mine UID mismatch: expected old got ${uid}`)
})

test('NodeRestriction: mirror pods cannot reference API objects or resource claims (CVE-2025-4563)', async t => {
  const { mine, uid } = await start(t)
  const check = async (name: string, spec: object, expected: string): Promise<void> => {
    const text = await mine('POST', pods, mirror(name, uid, spec))
    assert.equal(
      text,
      expected === 'ok'
        ? 'ok'
        : `403 pods "${name}" is forbidden: node "mine" can not create pods that reference ${expected}`,
    )
  }
  const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] })
  const projected = (source: object): object => volume({ projected: { sources: [source] } })
  const variable = (valueFrom: object): object => ({
    containers: [container({ env: [{ name: 'V', valueFrom }] })],
  })
  await check('a', { resourceClaims: [{ name: 'c', resourceClaimName: 'x' }] }, 'resourceclaims')
  await check('b', { resourceClaims: [{ name: 'c', resourceClaimTemplateName: 'x' }] }, 'resourceclaims')
  await check('c', { serviceAccountName: 'default' }, 'serviceaccounts')
  await check('d', volume({ secret: { secretName: 's' } }), 'secrets')
  await check('e', volume({ configMap: { name: 's' } }), 'configmaps')
  await check('f', variable({ secretKeyRef: { name: 's', key: 'k' } }), 'secrets')
  await check('g', variable({ configMapKeyRef: { name: 's', key: 'k' } }), 'configmaps')
  await check('h', { imagePullSecrets: [{ name: 's' }] }, 'secrets')
  await check('i', volume({ persistentVolumeClaim: { claimName: 'c' } }), 'persistentvolumeclaims')
  await check('j', volume({ csi: { driver: 'd.example.com' } }), 'csidrivers (via CSI volumes)')
  await check(
    'k',
    projected({ serviceAccountToken: { path: 't', expirationSeconds: 600 } }),
    'serviceaccounts (via projected volumes)',
  )
  await check('l', projected({ clusterTrustBundle: { name: 'b', path: 'p' } }), 'clustertrustbundles')
  await check('m', volume({ glusterfs: { endpoints: 'e', path: 'p' } }), 'endpoints (via glusterFS volumes)')
  const claimed = {
    volumeClaimTemplate: {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  }
  await check('n', volume({ ephemeral: claimed }), 'persistentvolumeclaims (via ephemeral volumes)')
  await check('o', volume({ hostPath: { path: '/x' } }), 'ok')
  await check('p', volume({ emptyDir: {} }), 'ok')
  await check(
    'q',
    projected({ downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } }),
    'ok',
  )
})

test('NodeRestriction: a node can update status of, evict and delete only its own pods', async t => {
  const { mine, given, patch } = await start(t)
  await given(pods, pod('own', { nodeName: 'mine' }, { labels: { a: 'b' } }))
  await given(pods, pod('other', { nodeName: 'other' }))
  const status = (name: string, change: object): Promise<string> =>
    mine('PATCH', `${pods}/${name}/status`, change, merge)
  assert.equal(await status('own', { status: { phase: 'Running' } }), 'ok')
  assert.match(
    await status('other', { status: { phase: 'Running' } }),
    /can only update pod status for pods with spec.nodeName set to itself$/u,
  )
  assert.match(
    await status('own', { metadata: { labels: { a: 'c' } } }),
    /node "mine" cannot update labels through pod status$/u,
  )
  assert.match(
    await status('own', { status: { resourceClaimStatuses: [{ name: 'x', resourceClaimName: 'y' }] } }),
    /cannot update resource claim statues$/u,
  )
  const extended = { extendedResourceClaimStatus: { resourceClaimName: 'y', requestMappings: [] } }
  assert.match(await status('own', { status: extended }), /cannot update extended resource claim status$/u)
  assert.match(
    await mine('PATCH', `${pods}/own`, { metadata: { labels: { c: 'd' } } }, merge),
    /unexpected operation "UPDATE", node "mine" can only create and delete mirror pods$/u,
  )
  const debug = { spec: { ephemeralContainers: [container({ name: 'd' })] } }
  assert.match(
    await mine('PATCH', `${pods}/own/ephemeralcontainers`, debug, merge),
    /unexpected pod subresource "ephemeralcontainers", only 'status' and 'eviction' are allowed$/u,
  )
  const bind = {
    kind: 'Binding',
    apiVersion: 'v1',
    metadata: { name: 'own' },
    target: { kind: 'Node', name: 'mine' },
  }
  assert.match(await mine('POST', `${pods}/own/binding`, bind), /unexpected pod subresource "binding"/u)
  const eviction = (name: string): object => ({
    kind: 'Eviction',
    apiVersion: 'policy/v1',
    metadata: { name },
  })
  assert.equal(
    await mine('POST', `${pods}/other/eviction`, eviction('other')),
    '403 pods "other" is forbidden: node mine can only evict pods with spec.nodeName set to itself',
  )
  assert.equal(
    await mine('DELETE', `${pods}/other`),
    '403 pods "other" is forbidden: node "mine" can only delete pods with spec.nodeName set to itself',
  )
  assert.match(await mine('DELETE', `${pods}?labelSelector=`), /^403 /u)
  assert.equal(await patch(`${pods}/own/status`, { status: { phase: 'Pending' } }), 'ok')
  assert.equal(await mine('POST', `${pods}/own/eviction`, eviction('own')), 'ok')
  assert.equal(await mine('DELETE', `${pods}/own?gracePeriodSeconds=0`), 'ok')
})

test('NodeRestriction: a node can update its own Node, but not taints or restricted labels', async t => {
  const server = await start(t)
  const { mine, given } = server
  await given('/api/v1/nodes', node('other'))
  const refusal = (name: string, text: string): string => `403 nodes "${name}" is forbidden: ${text}`
  assert.equal(
    await mine('PATCH', '/api/v1/nodes/other', { metadata: { labels: { a: 'b' } } }, merge),
    refusal('other', 'node "mine" is not allowed to modify node "other"'),
  )
  assert.equal(
    await mine('PATCH', '/api/v1/nodes/other/status', { status: {} }, merge),
    refusal('other', 'node "mine" is not allowed to modify node "other"'),
  )
  assert.equal(
    await mine('DELETE', '/api/v1/nodes/other'),
    refusal('other', 'node "mine" is not allowed to modify node "other"'),
  )
  const change = (part: object): Promise<string> => mine('PATCH', '/api/v1/nodes/mine', part, merge)
  assert.equal(await change({ metadata: { annotations: { a: 'b' } } }), 'ok')
  assert.equal(
    await change({ spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
    refusal('mine', 'node "mine" is not allowed to modify taints'),
  )
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }
  assert.equal(
    await change({ metadata: { ownerReferences: [owner] } }),
    refusal('mine', 'node "mine" is not allowed to modify ownerReferences'),
  )
  const configSource = { configMap: { name: 'c', namespace: 'n', kubeletConfigKey: 'k' } }
  const made = await server.as(nodeUser('new'))(
    'POST',
    '/api/v1/nodes',
    node('new', { spec: { configSource } }),
  )
  assert.equal(
    outcome(made),
    refusal('new', 'node "new" is not allowed to create pods with a non-nil configSource'),
  )
  const status = { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
  assert.equal(await mine('PATCH', '/api/v1/nodes/mine/status', status, merge), 'ok')
})

test('NodeRestriction: a node cannot set ownerReferences through its status (CVE-2025-5187)', async t => {
  const { mine, request } = await start(t)
  const metadata = { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }] }
  assert.match(
    await mine('PATCH', '/api/v1/nodes/mine/status', { metadata }, merge),
    /not allowed to modify ownerReferences$/u,
  )
  const taints = { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }
  assert.equal(await mine('PATCH', '/api/v1/nodes/mine/status', taints, merge), 'ok')
  const { body } = await request('GET', '/api/v1/nodes/mine')
  assert.deepEqual([body['metadata']['ownerReferences'], body['spec']], [undefined, {}])
})

test('NodeRestriction: a node can set only kubelet labels', async t => {
  const server = await start(t)
  const check = async (label: string, isAllowed: boolean): Promise<void> => {
    const changed = await server.mine(
      'PATCH',
      '/api/v1/nodes/mine',
      { metadata: { labels: { [label]: 'x' } } },
      merge,
    )
    assert.equal(
      changed,
      isAllowed ? 'ok' : `403 nodes "mine" is forbidden: is not allowed to modify labels: ${label}`,
    )
    const name = `n${label.length}${label.replaceAll(/[^a-z]/gu, '')}`
    const created = outcome(
      await server.as(nodeUser(name))('POST', '/api/v1/nodes', node(name, {}, { labels: { [label]: 'x' } })),
    )
    const refusal = `403 nodes "${name}" is forbidden: node "${name}" is not allowed to set the following labels: `
    assert.equal(created, isAllowed ? 'ok' : refusal + label)
  }
  for (const label of [
    'kubernetes.io/hostname',
    'kubernetes.io/os',
    'kubernetes.io/arch',
    'beta.kubernetes.io/os',
    'beta.kubernetes.io/arch',
    'node.kubernetes.io/instance-type',
    'topology.kubernetes.io/zone',
    'topology.kubernetes.io/region',
    'failure-domain.beta.kubernetes.io/zone',
    'kubelet.kubernetes.io/foo',
    'x.kubelet.kubernetes.io/foo',
    'node.kubernetes.io/foo',
    'x.node.kubernetes.io/foo',
    'example.com/foo',
    'foo',
    'notkubernetes.io/foo',
  ])
    await check(label, true)
  for (const label of [
    'node-restriction.kubernetes.io/foo',
    'x.node-restriction.kubernetes.io/foo',
    'kubernetes.io/foo',
    'k8s.io/foo',
    'node-role.kubernetes.io/control-plane',
    'x.k8s.io/foo',
    'feature.kubernetes.io/foo',
    'node.node-restriction.kubernetes.io/x',
  ])
    await check(label, false)
})

test('NodeRestriction: a node cannot remove restricted labels', async t => {
  const { mine, patch } = await start(t)
  assert.equal(
    await patch('/api/v1/nodes/mine', { metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } } }),
    'ok',
  )
  assert.match(
    await mine('PATCH', '/api/v1/nodes/mine', { metadata: { labels: null } }, merge),
    /modify labels: node-restriction.kubernetes.io\/a$/u,
  )
  assert.equal(await mine('PATCH', '/api/v1/nodes/mine', { metadata: { labels: { a: 'b' } } }, merge), 'ok')
})

test('NodeRestriction: a node can write only its own Lease, CSINode and ResourceSlices', async t => {
  const server = await start(t)
  const { mine } = server
  const lease = (name: string, namespace: string): Promise<string> =>
    mine('POST', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { name },
    })
  assert.equal(await lease('mine', 'kube-node-lease'), 'ok')
  assert.match(
    await lease('other', 'kube-node-lease'),
    /can only access node lease with the same name as the requesting node$/u,
  )
  assert.match(
    await lease('mine', 'default'),
    /can only access leases in the "kube-node-lease" system namespace$/u,
  )
  await server.given('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: { name: 'other' },
  })
  assert.match(
    await mine('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/other'),
    /^403 .*same name/u,
  )
  const csiNode = (name: string): Promise<string> =>
    mine('POST', '/apis/storage.k8s.io/v1/csinodes', {
      kind: 'CSINode',
      apiVersion: 'storage.k8s.io/v1',
      metadata: { name },
      spec: { drivers: [] },
    })
  assert.equal(await csiNode('mine'), 'ok')
  assert.match(await csiNode('other'), /can only access CSINode with the same name as the requesting node$/u)
  const slices = '/apis/resource.k8s.io/v1/resourceslices'
  const slice = (name: string, where: object): object => ({
    kind: 'ResourceSlice',
    apiVersion: 'resource.k8s.io/v1',
    metadata: { name },
    spec: { driver: 'd.example.com', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, ...where },
  })
  assert.equal(await mine('POST', slices, slice('a', { nodeName: 'mine' })), 'ok')
  assert.match(
    await mine('POST', slices, slice('b', { nodeName: 'other' })),
    /can only create ResourceSlice with the same NodeName/u,
  )
  assert.match(
    await mine('POST', slices, slice('b', { allNodes: true })),
    /can only create ResourceSlice with the same NodeName/u,
  )
  await server.given(slices, slice('c', { nodeName: 'other' }))
  assert.match(
    await mine('DELETE', `${slices}/c`),
    /can only delete ResourceSlice with the same NodeName as the requesting node$/u,
  )
  assert.equal(await mine('DELETE', `${slices}/a`), 'ok')
})

test('NodeRestriction: a node can update only the resize status of PersistentVolumeClaims', async t => {
  const { mine, given } = await start(t)
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
  await given(claims, {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
  assert.match(
    await mine('PATCH', `${claims}/c`, { metadata: { labels: { a: 'b' } } }, merge),
    /may only update PVC status$/u,
  )
  assert.match(await mine('DELETE', `${claims}/c`), /may only update PVC status$/u)
  const status = (change: object): Promise<string> => mine('PATCH', `${claims}/c/status`, change, merge)
  assert.equal(await status({ status: { capacity: { storage: '1Gi' } } }), 'ok')
  assert.equal(
    await status({ status: { conditions: [{ type: 'FileSystemResizePending', status: 'True' }] } }),
    'ok',
  )
  assert.match(
    await status({ status: { phase: 'Bound' } }),
    /is not allowed to update fields other than status.quantity and status.conditions/u,
  )
  assert.match(
    await status({ metadata: { labels: { a: 'b' } } }),
    /is not allowed to update fields other than/u,
  )
})

test('NodeRestriction: a node can request certificates only for itself', async t => {
  const { mine } = await start(t)
  const check = async (
    name: string,
    request: string,
    signerName: string,
    expected: RegExp,
  ): Promise<void> => {
    assert.match(
      await mine('POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', {
        kind: 'CertificateSigningRequest',
        apiVersion: 'certificates.k8s.io/v1',
        metadata: { name },
        spec: { request, signerName, usages: ['client auth'] },
      }),
      expected,
    )
  }
  const client = 'kubernetes.io/kube-apiserver-client-kubelet'
  await check('a', nodeMine, client, /^ok$/u)
  await check('b', nodeOther, client, /can only create a node CSR with CN=system:node:mine$/u)
  await check('c', nodeOther, 'kubernetes.io/kubelet-serving', /can only create a node CSR with CN/u)
  await check('d', jane, 'example.com/signer', /^ok$/u)
})

test('NodeRestriction: ignores other users and rejects a node without a name', async t => {
  const server = await start(t)
  const object = pod('p', { nodeName: 'other' })
  const as = async (user: UserInfo): Promise<string> => outcome(await server.as(user)('POST', pods, object))
  assert.equal(await as({ username: 'system:node:mine', groups: ['system:masters'] }), 'ok')
  assert.equal(
    await as({ username: 'system:node:', groups: ['system:nodes', 'system:masters'] }),
    '403 pods "p" is forbidden: could not determine node from user "system:node:"',
  )
})

test('NodeRestriction: a node can request tokens only for its pods and their audiences', async t => {
  const allowed: string[] = []
  const authorizer: Authorizer = {
    authorize: each => ({
      decision: each.isResource && allowed.includes(`${each.verb} ${each.resource}`) ? 'allow' : 'no opinion',
      reason: '',
    }),
  }
  let admission: AdmissionChain | undefined
  const server = await startWith(t, context => {
    const plugin = nodeRestriction({ ...context, authorizer })
    admission = new AdmissionChain([plugin])
    return plugin
  })
  await server.given('/api/v1/nodes', node('mine'))
  await server.given(serviceAccounts, account('default'))
  const token = (audience?: string): object => ({
    serviceAccountToken: { path: 't', expirationSeconds: 600, ...(audience && { audience }) },
  })
  const volumes = [{ name: 'v', projected: { sources: [token(), token('vault')] } }]
  const bodies = {
    own: await server.given(pods, pod('own', { nodeName: 'mine', serviceAccountName: 'default', volumes })),
    other: await server.given(
      pods,
      pod('other', { nodeName: 'other', serviceAccountName: 'default', volumes }),
    ),
  }
  const resource = server.server.scheme.byResource({ group: '', version: 'v1', resource: 'serviceaccounts' })!
  const check = async (
    reference: object | undefined,
    audiences: readonly string[],
    expected: string,
  ): Promise<void> => {
    const object = {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: { audiences, boundObjectRef: reference },
    }
    const request: AdmissionAttributes = {
      operation: 'CREATE',
      resource,
      subresource: 'token',
      namespace: 'default',
      name: 'default',
      dryRun: false,
      user: nodeUser('mine'),
      object,
      oldObject: undefined,
      options: {},
      warn: () => undefined,
      addAuditAnnotation: () => undefined,
    }
    const text = await admission!.mutate(request).then(
      () => 'ok',
      (error: Error) => error.message,
    )
    assert.equal(text, expected === 'ok' ? 'ok' : `serviceaccounts "default" is forbidden: ${expected}`)
  }
  const reference = (name: 'own' | 'other', fields: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name,
    uid: bodies[name].metadata['uid'],
    ...fields,
  })
  await check(reference('own'), [], 'ok')
  await check(reference('own'), ['vault'], 'ok')
  await check(undefined, [], 'node requested token not bound to a pod')
  await check(reference('own', { kind: 'Secret' }), [], 'node requested token not bound to a pod')
  await check(reference('own', { uid: '' }), [], 'node requested token with a pod binding without a uid')
  await check(
    reference('own', { uid: 'old' }),
    [],
    'the UID in the bound object reference (old) does not match the UID in record. ' +
      'The object might have been deleted and then recreated',
  )
  await check(reference('other'), [], 'node requested token bound to a pod scheduled on a different node')
  await check(reference('own'), ['a', 'b'], 'node may only request 0 or 1 audiences')
  await check(
    reference('own'),
    ['bank'],
    'audience "bank" not found in pod spec volume, ' +
      'system:node:mine is not authorized to request tokens for this audience',
  )
  allowed.push('request-serviceaccounts-token-audience bank')
  await check(reference('own'), ['bank'], 'ok')
})
