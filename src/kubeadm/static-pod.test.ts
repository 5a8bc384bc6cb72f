import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindRulesOf } from '#/api/builtin.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { readConfiguration } from './configuration.ts'
import { planEtcdMember } from './etcd-member.ts'
import { planControlPlaneProcesses, planNodeProcesses, type HostProcess } from './host-processes.ts'
import { planInit, type InitSettings } from './init-settings.ts'
import {
  healthEndpoint,
  planStaticPod,
  planStaticPodImage,
  planStaticPodRestart,
  processOfStaticPod,
} from './static-pod.ts'

const image = 'localhost/k8ts:1'

function settings(fields = '', address = '10.0.0.1'): InitSettings {
  const text = `apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n${fields}`
  const configuration = readConfiguration(text, { source: 'x', minor: '36' })
  const machine = { hostname: 'cp1', address }
  return planInit({ folder: '/k8ts', configuration, kubernetesVersion: 'v1.36.0', machine })
}

function processes(given: InitSettings): readonly HostProcess[] {
  const local = given.clusterConfiguration.etcd?.local ?? {}
  const program = { flags: new Set<string>(), environment: { ETCD_UNSUPPORTED_ARCH: 'amd64' } }
  return [
    { ...planEtcdMember({ ...given, program, local }), name: 'etcd' },
    ...planControlPlaneProcesses(given),
  ]
}

function planPod(name: string, given: InitSettings): Pod {
  return planStaticPod(
    processes(given).find(process => process.name === name)!,
    { ...given, image },
  )
}

/** `PATH` or `PATH rw`, with `f` for a file. */
function volumesOf({ spec }: Pod): readonly string[] {
  const { volumes = [], containers } = spec!
  const mounts = containers[0]!.volumeMounts ?? []
  assert.equal(mounts.length, volumes.length)
  return mounts.map(({ name, mountPath, readOnly }, index) => {
    const volume = volumes[index]!
    assert.equal(volume.name, name)
    assert.equal(volume.hostPath?.path, mountPath)
    return `${name}:${mountPath}${readOnly ? '' : ' rw'}${volume.hostPath?.type === 'File' ? ' f' : ''}`
  })
}

test('the static pod of the API server is that of kubeadm, with the command line of the process', () => {
  const given = settings('etcd: {local: {}}')
  const pod = planPod('kube-apiserver', given)
  const { command } = processes(given).find(({ name }) => name === 'kube-apiserver')!
  const probe = { httpGet: { host: '10.0.0.1', path: '/livez', port: 'probe-port', scheme: 'HTTPS' } }
  const slowly = { initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 15 }
  const container = pod.spec!.containers[0]!
  assert.deepEqual(pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      annotations: { 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint': '10.0.0.1:6443' },
      labels: { component: 'kube-apiserver', tier: 'control-plane' },
      name: 'kube-apiserver',
      namespace: 'kube-system',
    },
    spec: {
      containers: [
        {
          command,
          image,
          imagePullPolicy: 'Never',
          livenessProbe: { ...probe, ...slowly, failureThreshold: 8 },
          name: 'kube-apiserver',
          ports: [{ containerPort: 6443, name: 'probe-port', protocol: 'TCP' }],
          readinessProbe: {
            httpGet: { ...probe.httpGet, path: '/readyz' },
            timeoutSeconds: 15,
            periodSeconds: 1,
            failureThreshold: 3,
          },
          resources: { requests: { cpu: '250m' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
            readOnlyRootFilesystem: true,
          },
          startupProbe: { ...probe, ...slowly, failureThreshold: 24 },
          volumeMounts: container.volumeMounts,
        },
      ],
      hostNetwork: true,
      priority: 2_000_001_000,
      priorityClassName: 'system-node-critical',
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      volumes: pod.spec!.volumes,
    },
  })
  assert.deepEqual(volumesOf(pod), ['k8s-keys:/k8ts/pki rw', 'history:/k8ts/history rw'])
})

test('each component has the volumes of the files that its flags name', () => {
  const check = (name: string, fields: string, expected: readonly string[]): void => {
    assert.deepEqual(volumesOf(planPod(name, settings(fields))), expected, `${name} with ${fields}`)
  }
  const keys = 'k8s-keys:/k8ts/pki rw'
  const history = 'history:/k8ts/history rw'
  check('etcd', '', ['etcd-data:/k8ts/etcd rw', 'etcd-certs:/k8ts/pki/etcd'])
  check('etcd', 'etcd: {local: {dataDir: /data, extraArgs: [{name: wal-dir, value: /wal}]}}', [
    'etcd-data:/data rw',
    'etcd-certs:/k8ts/pki/etcd',
    'wal-dir:/wal rw',
  ])
  check('kube-apiserver', '', [keys, 'store:/k8ts/store rw', 'snapshots:/k8ts/snapshots rw', history])
  check('kube-apiserver', 'etcd: {external: {endpoints: ["https://10.0.0.5:2379"], caFile: /x/ca.crt}}', [
    keys,
    history,
    'etcd-cafile:/x/ca.crt f',
  ])
  check('kube-apiserver', 'certificatesDir: /certs\netcd: {local: {}}', [keys, 'k8s-certs:/certs', history])
  const audit = ['{name: audit-log-path, value: /log/audit.log}', '{name: audit-policy-file, value: /a.yaml}']
  check('kube-apiserver', `apiServer: {extraArgs: [${audit.join()}]}\netcd: {local: {}}`, [
    keys,
    history,
    'audit-log-path:/log rw',
    'audit-policy-file:/a.yaml f',
  ])
  check('kube-controller-manager', '', ['k8s-certs:/k8ts/pki', 'kubeconfig:/k8ts/controller-manager.conf f'])
  check('kube-scheduler', 'scheduler: {extraArgs: [{name: config, value: /s.yaml}]}', [
    'kubeconfig:/k8ts/scheduler.conf f',
    'config:/s.yaml f',
  ])
})

test('health is asked where the flags say', () => {
  const check = (name: string, given: InitSettings, url: string): void => {
    const endpoint = healthEndpoint(processes(given).find(process => process.name === name)!)!
    const { scheme, host, port, paths } = endpoint
    assert.equal(`${scheme} ${host} ${port} ${paths.liveness}`, url)
    const { livenessProbe, ports } = planPod(name, given).spec!.containers[0]!
    assert.equal(livenessProbe?.httpGet?.host, host)
    assert.equal(ports?.[0]?.containerPort, port)
  }
  const health = '/health?exclude=NOSPACE&serializable=true'
  check('etcd', settings(), `HTTP 127.0.0.1 2381 ${health}`)
  check('etcd', settings('', 'fd00::1'), `HTTP ::1 2381 ${health}`)
  check('kube-apiserver', settings('', 'fd00::1'), 'HTTPS fd00::1 6443 /livez')
  check('kube-controller-manager', settings(), 'HTTPS 127.0.0.1 10257 /livez')
  const args = (...names: readonly string[]): string =>
    `scheduler: {extraArgs: [${names.map(each => `{name: ${each.replace('=', ', value: "')}"}`).join()}]}`
  check('kube-scheduler', settings(args('bind-address=0.0.0.0', 'secure-port=7')), 'HTTPS 127.0.0.1 7 /livez')
  check('kube-scheduler', settings(args('bind-address=10.0.0.1')), 'HTTPS 10.0.0.1 10259 /livez')
  check('kube-scheduler', settings(args('bind-address=::')), 'HTTPS ::1 10259 /livez')
})

test('the process of a static pod is the one that it was made of, and a restart changes one annotation', () => {
  const given = settings('etcd: {local: {}}')
  for (const process of processes(given)) {
    const pod = planStaticPod(process, { ...given, image })
    const { name, command, environment = {} } = process
    assert.deepEqual(processOfStaticPod(pod), { name, command, environment })
    const restarted = planStaticPodRestart(pod, '2026-11-19T05:00:00Z')
    const { 'kubectl.kubernetes.io/restartedAt': time, ...annotations } = restarted.metadata.annotations ?? {}
    assert.equal(time, '2026-11-19T05:00:00Z')
    assert.deepEqual(annotations, pod.metadata.annotations ?? {})
    assert.deepEqual(restarted.spec, pod.spec)
  }
})

test('an upgrade changes the images of this program only', () => {
  const pod = planPod('kube-scheduler', settings())
  const { containers } = pod.spec!
  const check = (before: string, after: string | undefined): void => {
    const old = { ...pod, spec: { containers: [{ ...containers[0]!, image: before }] } }
    assert.equal(planStaticPodImage(old, 'localhost/k8ts:2')?.spec?.containers[0]?.image, after)
  }
  check('localhost/k8ts:1', 'localhost/k8ts:2')
  check('localhost/k8ts:2', undefined)
  check('registry.example.com/kube-scheduler:v1', undefined)
  check('localhost/k8ts-other:1', undefined)
})

test('manifests are valid pods, and only processes of the control plane have one', () => {
  const rules = kindRulesOf('', 'Pod')!
  for (const fields of ['', 'etcd: {local: {}}']) {
    const given = settings(fields)
    for (const process of processes(given)) {
      const pod = planStaticPod(process, { ...given, image })
      assert.ok(stringifyYaml(pod as unknown as JsonValue).includes(`name: ${process.name}`))
      assert.deepEqual(rules.validate?.(rules.withDefaults?.(pod as never) as never) ?? [], [])
    }
  }
  const [kubelet] = planNodeProcesses(settings(), 'vxlan')
  assert.equal(healthEndpoint(kubelet!), undefined)
  assert.throws(() => planStaticPod(kubelet!, { ...settings(), image }), /kubelet is no component/)
})
