/**
 * The rights of a kubelet with its client certificate, over the network, in a cluster with the complete
 * handler chain: it can access its own objects and those of its pods, but none of other nodes.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, describe, test } from 'node:test'
import { parse } from 'yaml'
import { accessTo, RawClient, type Access } from '../apiserver/raw-client.ts'
import { clusterForFile, type ChildCluster } from '../clients/cluster.ts'
import { kubeconfigFor } from './kubeconfigs.ts'
import { configMap, namespace, pod, secret } from './users.ts'

/** Sends a request: `GET /path`, with a JSON body, or a patch of the type that the method names. */
type Send = (
  line: string,
  body?: object | string,
) => Promise<{ readonly status: number; readonly text: string }>

const team = '/api/v1/namespaces/team'

async function senderFor(access: Access): Promise<Send> {
  const client = await RawClient.open(access)
  after(() => client[Symbol.dispose]())
  return async (line, body) => {
    const [word = '', path = ''] = line.split(' ')
    const [method = '', form = 'merge-patch+json'] = word.split(':')
    const type = method === 'PATCH' ? `application/${form}` : 'application/json'
    const content = typeof body === 'object' ? JSON.stringify(body) : body
    const outcome = await client.ask({ method, path, ...(content !== undefined && { type, body: content }) })
    assert.ok('status' in outcome, `${line}: ${JSON.stringify(outcome)}`)
    return outcome
  }
}

async function accessAs(cluster: ChildCluster, name: string, groups: readonly string[]): Promise<Access> {
  const { port, tls } = await accessTo(cluster)
  const content = parse(await readFile(await kubeconfigFor(cluster, name, groups), 'utf8')) as {
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[]
  }
  const pem = (field: string): string => Buffer.from(content.users[0]!.user[field]!, 'base64').toString()
  return { port, tls: { ca: tls.ca, cert: pem('client-certificate-data'), key: pem('client-key-data') } }
}

describe("a kubelet's certificate", async () => {
  const cluster = await clusterForFile()
  const admin = await senderFor(await accessTo(cluster))
  const kubelet = await senderFor(await accessAs(cluster, 'system:node:mine', ['system:nodes']))

  const make = async (path: string, object: object): Promise<string> => {
    const { status, text } = await admin(`POST ${path}`, object)
    assert.equal(status, 201, text)
    return (JSON.parse(text) as { metadata: { uid: string } }).metadata.uid
  }
  /** Checks the status of a request. */
  const check = async (expected: number, line: string, body?: object | string): Promise<void> => {
    const { status, text } = await kubelet(line, body)
    assert.equal(status, expected, `${line}: ${text}`)
  }

  const claim = (name: string): object => ({
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
  await make('/api/v1/namespaces', namespace('team'))
  const uids: Record<string, string> = {}
  for (const [name, nodeName] of [
    ['own', 'mine'],
    ['foreign', 'other'],
  ] as const) {
    uids[nodeName] = await make('/api/v1/nodes', {
      kind: 'Node',
      apiVersion: 'v1',
      metadata: { name: nodeName },
    })
    await make(`${team}/serviceaccounts`, { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name } })
    await make(`${team}/secrets`, secret(name, `password of ${name}`))
    await make(`${team}/configmaps`, configMap(name))
    await make(`${team}/persistentvolumeclaims`, claim(name))
    const volumes = [
      { name: 's', secret: { secretName: name } },
      { name: 'c', configMap: { name } },
      { name: 'p', persistentVolumeClaim: { claimName: name } },
      { name: 't', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] } },
    ]
    uids[name] = await make(`${team}/pods`, pod(name, { nodeName, serviceAccountName: name, volumes }))
  }
  await make(`${team}/secrets`, secret('nobody'))

  test('a kubelet reads the secrets, config maps and claims of its own pods only', async () => {
    for (const resource of ['secrets', 'configmaps', 'persistentvolumeclaims']) {
      await check(200, `GET ${team}/${resource}/own`)
      await check(403, `GET ${team}/${resource}/foreign`)
      await check(403, `GET ${team}/${resource}`)
      await check(403, `GET /api/v1/${resource}`)
      await check(403, `GET ${team}/${resource}?fieldSelector=metadata.name%3Dforeign`)
      await check(403, `GET /api/v1/${resource}?fieldSelector=metadata.name%3Down`)
      await check(403, `GET /api/v1/namespaces/default/${resource}/own`)
      await check(403, `DELETE ${team}/${resource}/own`)
      await check(403, `PATCH ${team}/${resource}/own`, { metadata: { labels: { a: 'b' } } })
      await check(403, `POST ${team}/${resource}`, { metadata: { name: 'new' } })
    }
    await check(403, `GET ${team}/secrets/nobody`)
    const selected = await kubelet(`GET ${team}/secrets?fieldSelector=metadata.name%3Down`)
    assert.equal(selected.status, 200)
    assert.equal((JSON.parse(selected.text) as { items: unknown[] }).items.length, 1)
    // Contradicting selectors return nothing, whichever of the names is allowed.
    const both = 'fieldSelector=metadata.name%3Down,metadata.name%3Dforeign'
    assert.doesNotMatch((await kubelet(`GET ${team}/secrets?${both}`)).text, /"data":/)
    const other = 'fieldSelector=metadata.name%3Dforeign,metadata.name%3Down'
    assert.doesNotMatch((await kubelet(`GET ${team}/secrets?${other}`)).text, /"data":/)
  })

  test('a kubelet reads the secrets of a pod only while the pod exists', async () => {
    await make(`${team}/secrets`, secret('passing'))
    const volumes = [{ name: 's', secret: { secretName: 'passing' } }]
    await check(403, `GET ${team}/secrets/passing`)
    await make(`${team}/pods`, pod('passing', { nodeName: 'mine', serviceAccountName: 'own', volumes }))
    await check(200, `GET ${team}/secrets/passing`)
    assert.equal((await admin(`DELETE ${team}/pods/passing?gracePeriodSeconds=0`)).status, 200)
    await check(403, `GET ${team}/secrets/passing`)
  })

  test('a kubelet reads, updates, evicts and deletes its own pods only', async () => {
    await check(200, `GET ${team}/pods/own`)
    await check(403, `GET ${team}/pods/foreign`)
    await check(403, `GET ${team}/pods`)
    await check(403, 'GET /api/v1/pods?fieldSelector=spec.nodeName%3Dother')
    const listed = await kubelet('GET /api/v1/pods?fieldSelector=spec.nodeName%3Dmine')
    assert.equal(listed.status, 200)
    assert.deepEqual(
      (JSON.parse(listed.text) as { items: { metadata: { name: string } }[] }).items.map(
        each => each.metadata.name,
      ),
      ['own'],
    )
    const running = { status: { phase: 'Running' } }
    await check(200, `PATCH ${team}/pods/own/status`, running)
    await check(403, `PATCH ${team}/pods/foreign/status`, running)
    await check(403, `PATCH ${team}/pods/own`, { metadata: { labels: { a: 'b' } } })
    await check(403, `PATCH ${team}/pods/own/ephemeralcontainers`, { spec: { ephemeralContainers: [] } })
    await check(403, `POST ${team}/pods/own/exec?command=id`)
    await check(403, `POST ${team}/pods/own/binding`, { target: { kind: 'Node', name: 'mine' } })
    await check(403, `DELETE ${team}/pods/foreign`)
    await check(403, `DELETE ${team}/pods`)
    const eviction = { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name: 'foreign' } }
    await check(403, `POST ${team}/pods/foreign/eviction`, eviction)
  })

  test('a kubelet gets tokens only for service accounts of its own pods, bound to these pods', async () => {
    const ask = (account: string, boundTo: string | undefined, audience = 'vault'): [string, object] => {
      const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: boundTo, uid: uids[boundTo ?? ''] }
      const spec = { audiences: [audience], ...(boundTo && { boundObjectRef }) }
      return [`POST ${team}/serviceaccounts/${account}/token`, { spec }]
    }
    await check(201, ...ask('own', 'own'))
    await check(403, ...ask('own', undefined))
    await check(403, ...ask('own', 'foreign'))
    await check(403, ...ask('foreign', 'foreign'))
    await check(403, ...ask('foreign', 'own'))
    await check(403, ...ask('own', 'own', 'https://somebody-else.example'))
  })

  test('a kubelet updates its own node only, and neither its restricted labels nor its taints', async () => {
    const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } }
    await check(200, 'GET /api/v1/nodes/mine')
    await check(403, 'GET /api/v1/nodes/other')
    await check(403, 'GET /api/v1/nodes')
    await check(200, 'PATCH /api/v1/nodes/mine/status', ready)
    await check(403, 'PATCH /api/v1/nodes/other/status', ready)
    await check(200, 'PATCH /api/v1/nodes/mine', { metadata: { labels: { 'example.com/rack': 'r1' } } })
    await check(403, 'PATCH /api/v1/nodes/other', { metadata: { labels: { 'example.com/rack': 'r1' } } })
    const restricted = { 'node-restriction.kubernetes.io/tier': 'secret' }
    await check(403, 'PATCH /api/v1/nodes/mine', { metadata: { labels: restricted } })
    await check(403, 'PATCH /api/v1/nodes/mine/status', { metadata: { labels: restricted } })
    await check(403, 'PATCH /api/v1/nodes/mine', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } })
    await check(403, 'POST /api/v1/nodes', { metadata: { name: 'third' } })
    await check(403, 'DELETE /api/v1/nodes/other')
    await check(403, 'DELETE /api/v1/nodes/mine')
    await check(403, 'DELETE /api/v1/nodes')
  })

  test('a kubelet cannot create mirror pods with resource claims (CVE-2025-4563)', async () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'mine', uid: uids['mine'], controller: true }
    const mirror = (name: string, spec: object): object => {
      const metadata = { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: [owner] }
      return pod(name, { nodeName: 'mine', ...spec }, metadata)
    }
    await check(201, `POST ${team}/pods`, mirror('mirror', {}))
    for (const [index, spec] of [
      { resourceClaims: [{ name: 'gpu', resourceClaimName: 'stolen' }] },
      { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'stolen' }] },
      { volumes: [{ name: 's', secret: { secretName: 'nobody' } }] },
      { serviceAccountName: 'foreign' },
    ].entries())
      await check(403, `POST ${team}/pods`, mirror(`mirror-${index}`, spec))
    const statuses = { status: { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'stolen' }] } }
    await check(403, `PATCH ${team}/pods/own/status`, statuses)
    await check(403, 'GET /apis/resource.k8s.io/v1/namespaces/team/resourceclaims/stolen')
    await check(403, `GET ${team}/secrets/nobody`)
  })

  test('a kubelet cannot add owner references to its node (CVE-2025-5187)', async () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }]
    const stored = JSON.parse((await kubelet('GET /api/v1/nodes/mine')).text) as { metadata: object }
    const replaced = { ...stored, metadata: { ...stored.metadata, ownerReferences } }
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'mine', ownerReferences } }
    const operations = JSON.stringify([
      { op: 'add', path: '/metadata/ownerReferences', value: ownerReferences },
    ])
    for (const path of ['/api/v1/nodes/mine', '/api/v1/nodes/mine/status']) {
      await check(403, `PATCH ${path}`, { metadata: { ownerReferences } })
      await check(403, `PATCH:strategic-merge-patch+json ${path}`, { metadata: { ownerReferences } })
      await check(403, `PATCH:json-patch+json ${path}`, operations)
      await check(403, `PATCH:apply-patch+yaml ${path}?fieldManager=kubelet`, applied)
      await check(403, `PUT ${path}`, replaced)
    }
    const { text } = await admin('GET /api/v1/nodes/mine')
    assert.doesNotMatch(text, /ownerReferences"/)
  })

  test('a user is a node only with both the user name prefix and the group of nodes', async () => {
    const path = `GET ${team}/secrets/own`
    for (const [name, groups] of [
      ['system:node:mine', []],
      ['mine', ['system:nodes']],
      ['system:node:', ['system:nodes']],
      ['system:node:other', ['system:nodes']],
      ['system:node:mine,other', ['system:nodes']],
      ['system:nodes:mine', ['system:nodes']],
      ['system:node:mine', ['system:node']],
    ] as const) {
      const send = await senderFor(await accessAs(cluster, name, groups))
      assert.equal((await send(path)).status, 403, `${name} ${groups.join()}`)
    }
  })
})
