/** The phases of init that write objects, against a real API server with the controllers of bootstrap tokens. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { configMaps, nodes, secrets } from '#/api/generated/core/v1-resources.ts'
import { clusterRoleBindings } from '#/api/generated/rbac/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import { bootstrapSignerController } from '#/controllers/bootstrap-signer.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { tokenCleanerController } from '#/controllers/token-cleaner.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { nodeBootstrapTokenGroup } from './bootstrap-token.ts'
import { generateCertificateKey } from './certificate-key.ts'
import { readConfiguration } from './configuration.ts'
import { planBootstrapTokens, planInit, type InitSettings } from './init-settings.ts'
import { readEmbeddedCertificate } from './kubeconfig-file.ts'
import { publishClusterInfo, validateClusterInfo } from './cluster-info.ts'
import { createBootstrapToken } from './bootstrap-tokens.ts'
import { apiServerNames, kubeconfigFiles, runCertsPhase, runKubeconfigPhase } from './init-files.ts'
import { applyProxyAddon, bindClusterAdmins, markControlPlane } from './mark-control-plane.ts'
import { fetchClusterConfiguration, fetchKubeletConfiguration, planJoin } from './stored-configuration.ts'
import { downloadCerts, uploadCerts } from './upload-certs.ts'
import { kubeadmConfigMap, uploadKubeadmConfig, uploadKubeletConfig } from './upload-config.ts'

const bootstrapper = ['system:bootstrap:abcdef', ['system:bootstrappers', nodeBootstrapTokenGroup]] as const

function settings(fields = '', folder = '/cluster'): InitSettings {
  const text = `apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n${fields}`
  const configuration = readConfiguration(text, { source: 'x', minor: '36' })
  const machine = { hostname: 'CP1', address: '10.0.0.1' }
  return planInit({ folder, configuration, kubernetesVersion: 'v1.36.0', machine })
}

const startPlane = (t: TestContext) =>
  startTestControlPlane(t, [bootstrapSignerController, tokenCleanerController])

test('settings are the configuration with defaults of the machine', () => {
  const { nodeName, controlPlaneEndpoint, clusterDns, taints, etcd, certificatesDir } = settings()
  assert.deepEqual(
    { nodeName, controlPlaneEndpoint, clusterDns, taints, etcd, certificatesDir },
    {
      nodeName: 'cp1',
      controlPlaneEndpoint: '10.0.0.1:6443',
      clusterDns: ['10.96.0.10'],
      taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
      etcd: { type: 'embedded' },
      certificatesDir: '/cluster/pki',
    },
  )
  const other = settings(
    'controlPlaneEndpoint: lb\nnetworking: {serviceSubnet: "10.9.0.0/16,fd00::/108"}\netcd: {local: {}}',
  )
  assert.equal(other.controlPlaneEndpoint, 'lb:6443')
  assert.deepEqual(other.clusterDns, ['10.9.0.10', 'fd00::a'])
  assert.equal(other.etcd.type, 'local')
  assert.deepEqual(apiServerNames(other), ['cp1', '10.0.0.1', 'lb', '10.9.0.1', 'fd00::1'])
})

test('certs and kubeconfig write the files of a control plane', async t => {
  const folder = await temporaryFolder(t)
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const options = { platform, crypto: nodeCrypto() }
  const fields =
    'controlPlaneEndpoint: lb:7443\netcd: {local: {}}\ncertificateValidityPeriod: 2400h\nclusterName: blue'
  const plan = settings(fields, folder)
  const certificates = await runCertsPhase(options, plan)
  await runKubeconfigPhase(options, plan, certificates)
  const files = [
    ...(await platform.files.list(join(folder, 'pki'))),
    ...(await platform.files.list(join(folder, 'pki/etcd'))),
  ]
  assert.ok(
    ['apiserver.crt', 'apiserver-etcd-client.key', 'sa.key', 'ca.key', 'peer.crt'].every(each =>
      files.includes(each),
    ),
  )
  const certificate = new X509Certificate(certificates.apiServer.cert)
  assert.ok(certificate.checkHost('lb') && certificate.checkHost('cp1') && certificate.checkIP('10.0.0.1'))
  const days = (certificate.validToDate.getTime() - platform.clock.now()) / 86_400_000
  assert.equal(Math.round(days), 100)
  const read: string[] = []
  for (const name of kubeconfigFiles) {
    const text = Buffer.from(await platform.files.read(join(folder, name))).toString()
    const subject = new X509Certificate(readEmbeddedCertificate(text)!.cert).subject.replaceAll('\n', ' ')
    read.push(
      `${name} ${subject} ${/server: (.*)/.exec(text)?.[1]} ${/current-context: (.*)/.exec(text)?.[1]}`,
    )
  }
  assert.deepEqual(read, [
    'admin.conf O=kubeadm:cluster-admins CN=kubernetes-admin https://lb:7443 kubernetes-admin@blue',
    'super-admin.conf O=system:masters CN=kubernetes-super-admin https://lb:7443 kubernetes-super-admin@blue',
    'kubelet.conf O=system:nodes CN=system:node:cp1 https://lb:7443 system:node:cp1@blue',
    'controller-manager.conf CN=system:kube-controller-manager https://10.0.0.1:6443 ' +
      'system:kube-controller-manager@blue',
    'scheduler.conf CN=system:kube-scheduler https://10.0.0.1:6443 system:kube-scheduler@blue',
  ])
})

test('upload-config stores the configuration, which joining machines may read', async t => {
  const { client, clientAs, run } = await startPlane(t)
  const plan = settings('networking: {podSubnet: 10.1.0.0/16}')
  for (let times = 0; times < 2; times++) {
    await run(uploadKubeadmConfig(client, plan))
    await run(uploadKubeletConfig(client, plan))
  }
  const reader = clientAs(...bootstrapper)
  const { data } = await run(reader.get(configMaps, kubeadmConfigMap))
  const stored = readConfiguration(data?.['ClusterConfiguration'] ?? '', { source: 'x', minor: '36' }).cluster
  assert.equal(stored.networking?.podSubnet, '10.1.0.0/16')
  // It would name one of several control planes.
  assert.equal(stored.controlPlaneEndpoint, undefined)
  const kubelet = await run(fetchKubeletConfiguration(reader))
  assert.deepEqual(await run(fetchClusterConfiguration(reader)), stored)
  assert.match(kubelet, /clusterDNS:\n- 10\.96\.0\.10\n/)
  const other = { namespace: 'kube-system', name: 'other' }
  await assert.rejects(run(reader.get(configMaps, other)), error => isApiError(error, 'Forbidden'))
})

test('a further control plane has the settings of the cluster, with its own folder and address', async t => {
  const { client, run } = await startPlane(t)
  await assert.rejects(
    run(fetchClusterConfiguration(client)),
    /ConfigMap kubeadm-config was not found .* upload-config/,
  )
  const text = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
certificatesDir: /etc/kubernetes/pki
clusterName: blue
controlPlaneEndpoint: 10.0.0.1:6443
encryptionAlgorithm: RSA-2048
imageRepository: registry.k8s.io
etcd: {local: {dataDir: /var/lib/etcd}}
networking: {serviceSubnet: 10.9.0.0/16}
`
  const data = { ClusterConfiguration: text }
  await run(client.create(configMaps, { metadata: kubeadmConfigMap, data }))
  const cluster = await run(fetchClusterConfiguration(client))
  const join = { controlPlane: { localAPIEndpoint: { advertiseAddress: '10.0.0.2' } } }
  const machine = { hostname: 'cp2', address: '10.0.0.9' }
  const plan = planJoin({ folder: '/host', join, cluster, kubernetesVersion: 'v1.36.0', machine })
  assert.equal(plan.certificatesDir, '/host/pki')
  assert.equal(plan.etcd.type, 'local')
  assert.equal(plan.clusterName, 'blue')
  assert.equal(plan.controlPlaneEndpoint, '10.0.0.1:6443')
  assert.deepEqual(apiServerNames(plan), ['cp2', '10.0.0.2', '10.0.0.1', '10.9.0.1'])
})

test('certificates are shared encrypted, until the token that owns them expires', async t => {
  const plane = await startPlane(t)
  const { client, clientAs, run, platform } = plane
  const certificateKey = generateCertificateKey(platform.random)
  const shared = {
    client,
    platform,
    certificatesDir: '/cluster/pki',
    certificateKey,
    etcd: { type: 'embedded' },
  } as const
  await run(platform.files.makeFolder('/cluster/pki'))
  const names = [
    'ca.crt',
    'ca.key',
    'front-proxy-ca.crt',
    'front-proxy-ca.key',
    'sa.pub',
    'sa.key',
    'encryption.yaml',
  ]
  for (const name of names) await run(platform.files.write(`/cluster/pki/${name}`, `content of ${name}`))
  await run(uploadCerts(shared))
  await run(uploadCerts(shared))
  const secret = await run(client.get(secrets, { namespace: 'kube-system', name: 'kubeadm-certs' }))
  assert.deepEqual(Object.keys(secret.data ?? {}).sort(), [...names, 'etcd-ca.crt', 'etcd-ca.key'].sort())
  assert.ok(!JSON.stringify(secret.data).includes(Buffer.from('content of').toString('base64')))
  const [owner] = secret.metadata.ownerReferences ?? []
  assert.match(owner?.name ?? '', /^bootstrap-token-/)
  const reader = clientAs(...bootstrapper)
  const target = { ...shared, client: reader, certificatesDir: '/joined/pki' }
  const paths = await run(downloadCerts(target))
  assert.deepEqual(
    paths,
    names.map(name => `/joined/pki/${name}`),
  )
  assert.equal(
    Buffer.from(await run(platform.files.read('/joined/pki/sa.key'))).toString(),
    'content of sa.key',
  )
  const wrong = {
    ...target,
    certificatesDir: '/wrong/pki',
    certificateKey: generateCertificateKey(platform.random),
  }
  await assert.rejects(
    run(downloadCerts(wrong)),
    /cannot decrypt Secret kubeadm-certs with this certificate key/,
  )
  assert.equal(await run(platform.files.stat('/wrong/pki')), undefined)
  await plane.advance(2 * 3_600_000 + 5_000)
  const gone = client.find(secrets, { namespace: 'kube-system', name: owner!.name })
  assert.equal(await run(gone), undefined)
  await run(client.delete(secrets, { namespace: 'kube-system', name: 'kubeadm-certs' }))
  await assert.rejects(run(downloadCerts({ ...target, client })), /it expires after two hours/)
})

test('cluster-info is readable by anonymous users and signed with the tokens', async t => {
  const plane = await startPlane(t)
  const { client, clientAs, run, settle, platform } = plane
  const now = { random: platform.random, nowMs: platform.clock.now() }
  const [token, quiet] = planBootstrapTokens([{}, { usages: ['authentication'], ttl: '0' }], now)
  assert.equal(quiet!.expiresMs, undefined)
  const info = { server: 'https://10.0.0.1:6443', caCertificates: 'PEM' }
  await run(createBootstrapToken(client, token!))
  await run(createBootstrapToken(client, quiet!))
  await run(publishClusterInfo(client, info))
  await settle()
  await run(publishClusterInfo(client, info))
  await settle()
  const anonymous = clientAs('system:anonymous', ['system:unauthenticated'])
  const { data } = await run(anonymous.get(configMaps, { namespace: 'kube-public', name: 'cluster-info' }))
  assert.equal(validateClusterInfo(data, token!).type, 'valid')
  assert.equal(validateClusterInfo(data, quiet!).type, 'unsigned')
})

test('a control plane node is labelled and tainted, and keeps its other taints', async t => {
  const { client, run, create } = await startPlane(t)
  const { taints } = settings()
  const missing = markControlPlane(client, { nodeName: 'cp1', taints })
  await assert.rejects(run(missing), error => isApiError(error, 'NotFound'))
  const other = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
  await create(nodes, { metadata: { name: 'cp1', labels: { a: 'b' } }, spec: { taints: [other] } })
  for (let times = 0; times < 2; times++) await run(markControlPlane(client, { nodeName: 'cp1', taints }))
  const node = await run(client.get(nodes, { name: 'cp1' }))
  assert.equal(node.metadata.labels?.['node-role.kubernetes.io/control-plane'], '')
  assert.equal(node.metadata.labels?.['a'], 'b')
  assert.deepEqual(
    node.spec?.taints?.map(({ key }) => key),
    ['node-role.kubernetes.io/control-plane', 'node.kubernetes.io/not-ready'],
  )
})

test('administrators have all rights by RBAC, and nodes read the configuration of the proxy', async t => {
  const { client, clientAs, run } = await startPlane(t)
  const admin = clientAs('kubernetes-admin', ['kubeadm:cluster-admins'])
  await assert.rejects(run(admin.list(secrets)), error => isApiError(error, 'Forbidden'))
  await run(bindClusterAdmins(client))
  await run(applyProxyAddon(admin, settings('networking: {podSubnet: 10.1.0.0/16}'), 'vxlan'))
  const node = clientAs('system:node:a', ['system:nodes'])
  const { data } = await run(node.get(configMaps, { namespace: 'kube-system', name: 'kube-proxy' }))
  assert.match(data?.['config.conf'] ?? '', /clusterCIDR: 10\.1\.0\.0\/16/)
  const names = (await run(client.list(clusterRoleBindings))).items.map(({ metadata }) => metadata.name)
  assert.ok(names.includes('kubeadm:node-proxier'))
})
