import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as k8s from '@kubernetes/client-node'
import { changed } from './client-node/changed.ts'
import { clusterForFile } from './cluster.ts'
import { samples } from './samples.ts'

const cluster = await clusterForFile()
const config = new k8s.KubeConfig()
config.loadFromFile(cluster.kubeconfig)
const core = config.makeApiClient(k8s.CoreV1Api)
const apps = config.makeApiClient(k8s.AppsV1Api)
const namespace = 'actions'
await core.createNamespace({ body: { metadata: { name: namespace } } })
const mergePatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch)

/** A sample of the kind of a class of the package, under another name. */
function sampleOf<T extends object>(type: new () => T, name: string): T {
  const sample = samples.find(each => type.name === `V1${each.kind}`)!
  return Object.assign(new type(), sample, { metadata: { name } })
}

function codeOf(error: unknown): number | undefined {
  return error instanceof k8s.ApiException ? error.code : undefined
}

test('client-node scales a workload through the scale subresource', async () => {
  const place = { namespace, name: 'scaled' }
  await apps.createNamespacedDeployment({ namespace, body: sampleOf(k8s.V1Deployment, 'scaled') })
  const scale = await apps.readNamespacedDeploymentScale(place)
  assert.deepEqual(
    [scale.kind, scale.spec?.replicas ?? 0, scale.status?.selector],
    ['Scale', 0, 'app=sample'],
  )
  await apps.replaceNamespacedDeploymentScale({ ...place, body: changed(scale, { spec: { replicas: 3 } }) })
  assert.equal((await apps.readNamespacedDeployment(place)).spec?.replicas, 3)
  const stale = changed(scale, { spec: { replicas: 4 } })
  await assert.rejects(
    apps.replaceNamespacedDeploymentScale({ ...place, body: stale }),
    error => codeOf(error) === 409,
  )
  const patched = await apps.patchNamespacedDeploymentScale(
    { ...place, body: { spec: { replicas: 0 } } },
    mergePatch,
  )
  assert.equal(patched.spec?.replicas ?? 0, 0)
})

test('client-node writes status only through the status subresource', async () => {
  const networking = config.makeApiClient(k8s.NetworkingV1Api)
  const place = { namespace, name: 'front' }
  const made = await networking.createNamespacedIngress({ namespace, body: sampleOf(k8s.V1Ingress, 'front') })
  const status = { loadBalancer: { ingress: [{ ip: '10.0.0.7' }] } }
  const reported = changed(made, { spec: { rules: [] }, status })
  const written = await networking.replaceNamespacedIngressStatus({ ...place, body: reported })
  assert.deepEqual(written.status?.loadBalancer?.ingress?.[0]?.ip, '10.0.0.7')
  assert.deepEqual(written.spec, made.spec)
  assert.equal(written.metadata?.generation, made.metadata?.generation)
  const again = await networking.replaceNamespacedIngress({
    ...place,
    body: changed(written, { status: {} }),
  })
  assert.deepEqual(again.status, written.status)
})

test('client-node binds, debugs, resizes and evicts a pod', async () => {
  const place = { namespace, name: 'busy' }
  await core.createNamespacedPod({ namespace, body: sampleOf(k8s.V1Pod, 'busy') })
  const target = { apiVersion: 'v1', kind: 'Node', name: 'n1' }
  await core.createNode({
    body: { metadata: { name: 'n1' }, status: { capacity: { cpu: '4', memory: '8Gi' } } },
  })
  await core.createNamespacedPodBinding({ ...place, body: { metadata: { name: 'busy' }, target } })
  assert.equal((await core.readNamespacedPod(place)).spec?.nodeName, 'n1')
  await assert.rejects(
    core.createNamespacedPodBinding({ ...place, body: { metadata: { name: 'busy' }, target } }),
    error => codeOf(error) === 409,
  )
  const debug = {
    spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox', targetContainerName: 'main' }] },
  }
  const debugged = await core.patchNamespacedPodEphemeralcontainers({ ...place, body: debug }, mergePatch)
  assert.equal(debugged.spec?.ephemeralContainers?.[0]?.name, 'debug')
  const resize = [{ op: 'replace', path: '/spec/containers/0/resources/requests/cpu', value: '200m' }]
  const resized = await core.patchNamespacedPodResize(
    { ...place, body: resize },
    k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.JsonPatch),
  )
  assert.equal(resized.spec?.containers[0]?.resources?.requests?.['cpu'], '200m')
  const eviction = { metadata: { name: 'busy' }, deleteOptions: { gracePeriodSeconds: 7 } }
  await core.createNamespacedPodEviction({ ...place, body: eviction })
  assert.equal((await core.readNamespacedPod(place)).metadata?.deletionGracePeriodSeconds, 7)
  await core.deleteNamespacedPod({ ...place, gracePeriodSeconds: 0 })
  await assert.rejects(core.readNamespacedPod(place), error => codeOf(error) === 404)
})

test('cluster IPs and node ports of services are allocated and released', async () => {
  const networking = config.makeApiClient(k8s.NetworkingV1Api)
  const body = sampleOf(k8s.V1Service, 'one')
  const typed = changed(body, { spec: changed(body.spec!, { type: 'NodePort' }) })
  const one = await core.createNamespacedService({ namespace, body: typed })
  const address = one.spec?.clusterIP ?? ''
  assert.match(address, /^10\.96\./)
  const nodePort = one.spec?.ports?.[0]?.nodePort ?? 0
  assert.ok(nodePort >= 30_000 && nodePort <= 32_767)
  assert.equal((await networking.readIPAddress({ name: address })).spec?.parentRef?.name, 'one')
  const same = changed(body, { metadata: { name: 'two' }, spec: changed(body.spec!, { clusterIP: address }) })
  await assert.rejects(
    core.createNamespacedService({ namespace, body: same }),
    error => codeOf(error) === 422,
  )
  await core.deleteNamespacedService({ namespace, name: 'one' })
  assert.equal((await core.createNamespacedService({ namespace, body: same })).spec?.clusterIP, address)
})

test('client-node approves a CSR and finalizes a namespace', async () => {
  const certificates = config.makeApiClient(k8s.CertificatesV1Api)
  const request = await certificates.createCertificateSigningRequest({
    body: sampleOf(k8s.V1CertificateSigningRequest, 'asked'),
  })
  assert.equal(request.spec.username, 'kubernetes-admin')
  const condition = { type: 'Approved', status: 'True', reason: 'Fine' }
  const approved = await certificates.replaceCertificateSigningRequestApproval({
    name: 'asked',
    body: changed(request, { status: { conditions: [condition] } }),
  })
  assert.equal(approved.status?.conditions?.[0]?.type, 'Approved')
  const made = await core.createNamespace({ body: { metadata: { name: 'ended' } } })
  await core.replaceNamespaceFinalize({ name: 'ended', body: changed(made, { spec: { finalizers: [] } }) })
  await core.deleteNamespace({ name: 'ended' })
  await assert.rejects(core.readNamespace({ name: 'ended' }), error => codeOf(error) === 404)
})

test('client-node reviews return the user and its permissions', async () => {
  const authorization = config.makeApiClient(k8s.AuthorizationV1Api)
  const authentication = config.makeApiClient(k8s.AuthenticationV1Api)
  const resourceAttributes = { namespace, verb: 'create', resource: 'pods' }
  const mine = await authorization.createSelfSubjectAccessReview({ body: { spec: { resourceAttributes } } })
  assert.equal(mine.status?.allowed, true)
  const local = {
    metadata: { namespace },
    spec: { resourceAttributes, user: 'root', groups: ['system:masters'] },
  }
  const masters = await authorization.createNamespacedLocalSubjectAccessReview({ namespace, body: local })
  assert.equal(masters.status?.allowed, true)
  const body = { spec: { resourceAttributes, user: 'nobody' } }
  assert.equal((await authorization.createSubjectAccessReview({ body })).status?.allowed, false)
  const self = await authentication.createSelfSubjectReview({ body: {} })
  assert.equal(self.status?.userInfo?.username, 'kubernetes-admin')
})

test('KubernetesObjectApi of client-node handles objects of any kind', async () => {
  const objects = k8s.KubernetesObjectApi.makeApiClient(config)
  const header = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name: 'any' } }
  const body = changed(sampleOf(k8s.V1Deployment, 'any'), header)
  const created = await objects.create(body)
  assert.ok(created.metadata?.uid)
  assert.deepEqual(await objects.read(header), created)
  const patched = (await objects.patch({
    ...header,
    spec: { replicas: 1 },
  } as k8s.KubernetesObject)) as k8s.V1Deployment
  assert.equal(patched.spec?.replicas, 1)
  const labelled = { ...header, metadata: { ...header.metadata, labels: { a: 'b' } } }
  const applied = await objects.patch(
    labelled,
    undefined,
    undefined,
    'me',
    true,
    k8s.PatchStrategy.ServerSideApply,
  )
  assert.deepEqual(applied.metadata.labels, { a: 'b' })
  const replaced = await objects.replace(changed(body, { spec: changed(body.spec!, { replicas: 2 }) }))
  assert.equal(replaced.spec?.replicas, 2)
  const listed = await objects.list('apps/v1', 'Deployment', namespace)
  assert.ok(listed.items.some(item => item.metadata?.name === 'any'))
  assert.equal((await objects.delete(header)).status, 'Success')
  await assert.rejects(objects.read(header), error => codeOf(error) === 404)
})

test('CustomObjectsApi of client-node works with any group', async () => {
  const custom = config.makeApiClient(k8s.CustomObjectsApi)
  const place = { group: 'apps', version: 'v1', namespace, plural: 'deployments' }
  const body = sampleOf(k8s.V1Deployment, 'plain')
  const created = (await custom.createNamespacedCustomObject({ ...place, body })) as k8s.V1Deployment
  assert.equal(created.metadata?.namespace, namespace)
  const patch = [{ op: 'replace', path: '/spec/replicas', value: 4 }]
  await custom.patchNamespacedCustomObject({ ...place, name: 'plain', body: patch })
  const read = (await custom.getNamespacedCustomObject({ ...place, name: 'plain' })) as k8s.V1Deployment
  assert.equal(read.spec?.replicas, 4)
  const listed = (await custom.listNamespacedCustomObject(place)) as k8s.V1DeploymentList
  assert.ok(listed.items.some(item => item.metadata?.name === 'plain'))
  await custom.deleteNamespacedCustomObject({ ...place, name: 'plain' })
})

test('client-node reads livez and readyz', async () => {
  const health = new k8s.Health(config)
  assert.deepEqual([await health.livez({}), await health.readyz({})], [true, true])
})
