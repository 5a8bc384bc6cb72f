import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFlags } from '#/base/flags.ts'
import type { KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { readKubeletConfiguration } from './configuration-file.ts'
import { kubeletFlags } from './flags.ts'
import { planKubelet, type PlannedKubelet } from './settings.ts'

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n'

function plan(yaml: string, words: readonly string[] = []): PlannedKubelet {
  return planKubelet({
    flags: parseFlags(words, kubeletFlags),
    file: readKubeletConfiguration(header + yaml).settings,
    folder: '/srv',
    machine: { hostname: 'Node-1', address: '192.0.2.1' },
    hasClusterCa: false,
  })
}

test('each field of a KubeletConfiguration sets the kubelet', () => {
  const check = (yaml: string, expected: Partial<KubeletConfiguration>): void => {
    const { kubelet } = plan(yaml)
    for (const [name, value] of Object.entries(expected))
      assert.deepEqual(kubelet[name as keyof KubeletConfiguration], value, `${yaml}: ${name}`)
  }
  check('', {
    name: 'node-1',
    addresses: ['192.0.2.1'],
    cgroupRoot: '/k8ts',
    staticPodPath: '/srv/manifests',
  })
  check('address: 0.0.0.0\nport: 10350', { serverAddress: '0.0.0.0', kubeletPort: 10350 })
  check('clusterDNS: [10.96.0.10]\nclusterDomain: example.org', {
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'example.org',
  })
  check('maxPods: 50\npodPidsLimit: -1\npodCIDR: 10.1.0.0/24', {
    podsMax: 50,
    podPidsMax: -1,
    podCidr: '10.1.0.0/24',
  })
  check('maxPods: 0', { podsMax: 110 })
  check('imageGCHighThresholdPercent: 95\nimageMinimumGCAge: 5m', {
    imageGc: { highPercent: 95, lowPercent: 80, minimumAgeMs: 300_000 },
  })
  check('containerLogMaxSize: 1Mi\ncontainerLogMaxFiles: 3', {
    containerLog: { maxBytes: 1_048_576, maxFiles: 3 },
  })
  check('evictionHard: {memory.available: 200Mi}', { evictionHard: { 'memory.available': '200Mi' } })
  check('evictionHard: {nodefs.available: 1%}\nmergeDefaultEvictionSettings: true', {
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    },
  })
  check('evictionPressureTransitionPeriod: 1m', { evictionPressureTransitionPeriod: '1m' })
  check('evictionPressureTransitionPeriod: 0s', { evictionPressureTransitionPeriod: '5m' })
  check('systemReserved: {cpu: 500m, memory: 1Gi}\nkubeReserved: {cpu: "1"}', {
    systemReserved: { cpu: '1500m', memory: '1Gi' },
  })
  check('authentication: {webhook: {cacheTTL: 1m}}\nauthorization: {webhook: {cacheAuthorizedTTL: 2m}}', {
    webhookCache: { tokenMs: 60_000, allowedMs: 120_000, deniedMs: 30_000 },
  })
  check('nodeStatusUpdateFrequency: 5s\nnodeStatusReportFrequency: 0s\nnodeLeaseDurationSeconds: 20', {
    nodeStatusUpdateMs: 5_000,
    nodeStatusReportMs: 300_000,
    nodeLeaseDurationSeconds: 20,
  })
  check('registerNode: false\nproviderID: metal://7', { registerNode: false, providerId: 'metal://7' })
  check('registerWithTaints: [{key: a, value: b, effect: NoSchedule}, {key: c, effect: NoExecute}]', {
    registerTaints: [
      { key: 'a', effect: 'NoSchedule', value: 'b' },
      { key: 'c', effect: 'NoExecute' },
    ],
  })
  check('resolvConf: ""', { resolvConf: '' })
  check('seccompDefault: true\nallowedUnsafeSysctls: [net.*]', {
    seccompDefault: true,
    allowedUnsafeSysctls: ['net.*'],
  })
})

test('flags override the file', () => {
  const words = '--max-pods 20 --cgroup-root /pods --register-with-taints a=b:NoSchedule --node-labels x=y,z='
  const { kubelet, health, credentials, servingCertificate } = plan(
    'maxPods: 50\ncgroupRoot: /file\nhealthzPort: 0\nserverTLSBootstrap: true',
    words.split(' '),
  )
  const { podsMax, cgroupRoot, registerTaints, labels } = kubelet
  assert.deepEqual([podsMax, cgroupRoot], [20, '/pods'])
  assert.deepEqual(registerTaints, [{ key: 'a', effect: 'NoSchedule', value: 'b' }])
  assert.deepEqual(labels, { x: 'y', z: '' })
  assert.equal(health, undefined)
  assert.equal(credentials.kubeconfig, '/srv/kubelet.conf')
  assert.equal(servingCertificate, 'cluster')
})

test('certificates, health and runtime of the process', () => {
  const { health, credentials, servingCertificate, runtimeSocket, podNetwork } = plan(
    `authentication: {x509: {clientCAFile: /ca.crt}}
rotateCertificates: false
tlsCertFile: /tls.crt
tlsPrivateKeyFile: /tls.key
healthzBindAddress: 0.0.0.0
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock`,
    ['--pod-network', 'none'],
  )
  assert.deepEqual(health, { host: '0.0.0.0', port: 10_248 })
  assert.deepEqual(
    [credentials.clientCaFile, credentials.isClientRotated, credentials.certificates],
    ['/ca.crt', false, '/srv/node/pki'],
  )
  assert.deepEqual(servingCertificate, { cert: '/tls.crt', key: '/tls.key' })
  assert.deepEqual([runtimeSocket, podNetwork], ['/run/containerd/containerd.sock', 'none'])
  assert.equal(plan('').servingCertificate, 'self-signed')
})

test('unknown, unsupported and wrong fields are errors with their path', () => {
  const check = (yaml: string, message: string): void => {
    assert.throws(() => readKubeletConfiguration(header + yaml), { name: 'UsageError', message })
  }
  check('maxPod: 5', 'unknown field maxPod')
  check('authentication: {x509: {caFile: a}}', 'unknown field authentication.x509.caFile')
  check('authentication: true', 'authentication: must be an object')
  check('maxPods: many', 'maxPods: must be an integer from 0 to 2147483647')
  check('port: 70000', 'port: must be an integer from 1 to 65535')
  check('syncFrequency: {}\nclusterDNS: 10.96.0.10', 'clusterDNS: must be a list of strings')
  check('imageMinimumGCAge: soon', 'imageMinimumGCAge: must be a duration, such as 30s')
  check('containerLogMaxSize: big', 'containerLogMaxSize: must be a quantity, such as 10Mi')
  check('evictionHard: {memory.available: 5}', 'evictionHard: must be an object with strings')
  check('readOnlyPort: 10255', 'readOnlyPort: is not supported: clients are always authenticated')
  check(
    'authentication: {anonymous: {enabled: true}}',
    'authentication.anonymous.enabled: must be false: clients are always authenticated',
  )
  check(
    'authorization: {mode: AlwaysAllow}',
    'authorization.mode: must be "Webhook": requests are always authorized by the API server',
  )
  check('cpuManagerPolicy: static', 'cpuManagerPolicy: must be "none": containers share all CPUs')
  check('enableServer: false', 'enableServer: must be true: the API server needs the server of the kubelet')
  check(
    'registerWithTaints: [{key: a}]',
    'registerWithTaints: each taint must have key and effect, and may have value',
  )
  assert.throws(() => readKubeletConfiguration('kind: Pod'), {
    message: 'must have apiVersion kubelet.config.k8s.io/v1beta1 and kind KubeletConfiguration',
  })
})

test('settings that do not fit together are refused', () => {
  const check = (yaml: string, message: string | RegExp): void => {
    assert.throws(() => plan(yaml), { name: 'UsageError', message })
  }
  check('evictionHard: {disk.available: 1Gi}', 'unsupported eviction signal disk.available')
  check('evictionSoft: {memory.available: 1Gi}', /memory\.available/)
  check('imageGCLowThresholdPercent: 90', /^imageGCLowThresholdPercent 90 must be less than .* 85$/)
  check('systemReserved: {gpu: "1"}', 'gpu cannot be reserved for the system')
  check('kubeReserved: {cpu: lots}', 'reserved cpu lots is not a quantity')
  check('tlsCertFile: /tls.crt', '--tls-cert-file and --tls-private-key-file are required together')
  check('containerRuntimeEndpoint: tcp://h:1', /^container runtime endpoint tcp:\/\/h:1 must be a socket/)
})

test('the file that kubeadm writes is accepted', () => {
  const { settings, warnings } = readKubeletConfiguration(writtenByKubeadm)
  assert.deepEqual(warnings, ['cgroupDriver has no effect here'])
  assert.deepEqual(settings, {
    kubelet: {
      clusterDNS: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      resolvConf: '/run/systemd/resolve/resolv.conf',
      staticPodPath: '/etc/kubernetes/manifests',
    },
    clientCaFile: '/etc/kubernetes/pki/ca.crt',
    healthHost: '127.0.0.1',
    healthPort: 10_248,
    rotatesCertificates: true,
  })
})

test('a field that is only tuning is reported by name', () => {
  const { warnings } = readKubeletConfiguration(
    `${header}syncFrequency: 5s\nfeatureGates: {A: true}\nkubeAPIQPS: 50`,
  )
  assert.deepEqual(warnings, ['syncFrequency has no effect here', 'featureGates has no effect here'])
})

/** The fields that kubeadm v1.36 writes to the ConfigMap `kubelet-config` and to the file of a host. */
const writtenByKubeadm = `${header}authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
resolvConf: /run/systemd/resolve/resolv.conf
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`

test('the folder of the CNI configuration is that of the container runtime', () => {
  const endpoint = 'unix:///run/containerd/containerd.sock'
  const existing = `--container-runtime-endpoint=${endpoint}`
  for (const [words, expected] of [
    [[], undefined],
    [['--pod-network=none'], '/etc/cni/net.d'],
    [[existing], '/etc/cni/net.d'],
    [[existing, '--pod-network=host-gw'], '/etc/cni/net.d'],
    [[existing, '--cni-conf-dir=/opt/cni.d'], '/opt/cni.d'],
    [['--cni-conf-dir=/opt/cni.d'], '/opt/cni.d'],
  ] as const)
    assert.equal(plan('', words).cniFolder, expected, words.join(' '))
  assert.equal(plan(`containerRuntimeEndpoint: ${endpoint}`).cniFolder, '/etc/cni/net.d')
})

test('the field that nodes with cgroup v1 need is accepted', () => {
  for (const value of [true, false]) {
    const { warnings } = readKubeletConfiguration(`${header}failCgroupV1: ${value}`)
    assert.deepEqual(warnings, [])
  }
})
