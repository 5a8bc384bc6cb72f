import { test } from 'node:test'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'
import { assertDiagnosis, deploymentOf, why, type ExpectedDiagnosis } from './why-cluster.ts'

const inDefault = { namespace: 'default' }

interface Case {
  readonly name: string
  readonly nodes?: number
  readonly manifests: readonly object[]
  /** Time before the question; without it the cluster settles. */
  readonly after?: string
  readonly target: string
  readonly expected: ExpectedDiagnosis
}

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'app', image: 'web', ports: [{ name: 'http', containerPort: 8080 }] }] },
}
const selector = { matchLabels: { app: 'web' } }

function workload(kind: string, spec: object): object {
  const full = { selector, template, ...spec }
  return { apiVersion: 'apps/v1', kind, metadata: { ...inDefault, name: 'web' }, spec: full }
}

function job(spec: object, pod: object = {}): object {
  const podSpec = { restartPolicy: 'Never', containers: [{ name: 'app', image: 'web', ...pod }] }
  const metadata = { ...inDefault, name: 'once' }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { ...spec, template: { spec: podSpec } } }
}

function service(spec: object): object {
  return { apiVersion: 'v1', kind: 'Service', metadata: { ...inDefault, name: 'web' }, spec }
}

function ingress(backend: object, spec: object = {}): object {
  const paths = [{ path: '/', pathType: 'Prefix', backend: { service: backend } }]
  const metadata = { ...inDefault, name: 'shop' }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata,
    spec: { rules: [{ http: { paths } }], ...spec },
  }
}

const cases: readonly Case[] = [
  {
    name: 'a StatefulSet without enough memory',
    nodes: 1,
    manifests: [
      workload('StatefulSet', {
        serviceName: 'web',
        template: {
          ...template,
          spec: { containers: [{ name: 'app', image: 'web', resources: { requests: { memory: '9Ti' } } }] },
        },
      }),
    ],
    target: 'statefulset web',
    expected: {
      code: 'NotScheduled',
      summary:
        /^StatefulSet default\/web .*: Pod default\/web-0 .*, since 1 node has too little memory for the 9Ti/,
      evidence: [/^Node node-1: has only /],
    },
  },
  {
    name: 'a DaemonSet whose node selector matches no node',
    nodes: 1,
    manifests: [
      workload('DaemonSet', {
        template: { ...template, spec: { ...template.spec, nodeSelector: { disk: 'ssd' } } },
      }),
    ],
    target: 'ds web',
    expected: { code: 'NotScheduled', summary: /runs no pods, since no node matches its node selector/ },
  },
  {
    name: 'a pod whose node selector matches no node',
    nodes: 2,
    manifests: [deploymentOf({}, { pod: { nodeSelector: { disk: 'ssd' } } })],
    target: 'deploy web',
    expected: {
      code: 'NotScheduled',
      summary: /since all 2 nodes lack the labels disk=ssd of the pod's nodeSelector\.$/,
      command: /--show-labels$/,
    },
  },
  {
    name: 'a pod with a scheduling gate',
    nodes: 1,
    manifests: [deploymentOf({}, { pod: { schedulingGates: [{ name: 'example.com/wait' }] } })],
    target: 'deploy web',
    expected: { code: 'NotScheduled', summary: /since it has the scheduling gates example\.com\/wait\.$/ },
  },
  {
    name: 'a pod of a scheduler that does not run',
    nodes: 1,
    manifests: [deploymentOf({}, { pod: { schedulerName: 'mine' } })],
    target: 'deploy web',
    expected: { code: 'NotScheduled', summary: /since the scheduler "mine" has not considered it\.$/ },
  },
  {
    name: 'a pod whose claim does not exist',
    nodes: 1,
    manifests: [
      deploymentOf({}, { pod: { volumes: [{ name: 'a', persistentVolumeClaim: { claimName: 'gone' } }] } }),
    ],
    target: 'deploy web',
    expected: {
      code: 'MissingObject',
      summary: /since PersistentVolumeClaim gone, which it uses, does not exist/,
    },
  },
  {
    name: 'a cluster without nodes',
    manifests: [deploymentOf()],
    target: 'deploy web',
    expected: { code: 'NotScheduled', summary: /since the cluster has no nodes\.$/ },
  },
  {
    name: 'a Deployment without replicas',
    manifests: [deploymentOf({}, { replicas: 0 })],
    target: 'deploy web',
    expected: { code: 'Healthy', summary: /runs no pods, since spec\.replicas is 0\.$/ },
  },
  {
    name: 'a pod that waits for its init container',
    nodes: 1,
    manifests: [
      deploymentOf(
        {},
        {
          pod: {
            initContainers: [
              { name: 'wait', image: 'wait', command: ['sh', '-c', 'echo waiting for db; sleep 1000'] },
            ],
          },
        },
      ),
    ],
    after: '1m',
    target: 'deploy web',
    expected: {
      code: 'Starting',
      summary: /waits for its init container wait, which has been running for \d+s: waiting for db\.$/,
    },
  },
  {
    name: 'a pod that a namespace does not admit',
    nodes: 1,
    manifests: [
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'default', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
      },
      deploymentOf(),
    ],
    target: 'deploy web',
    expected: {
      code: 'AdmissionDenied',
      summary: /ReplicaSet \S+ cannot create its pods: .* violates PodSecurity "restricted:latest"/,
    },
  },
  {
    name: 'a StatefulSet over its quota',
    nodes: 1,
    manifests: [
      {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { ...inDefault, name: 'none' },
        spec: { hard: { pods: '0' } },
      },
      workload('StatefulSet', { serviceName: 'web' }),
    ],
    target: 'sts web',
    expected: { code: 'QuotaExceeded', summary: /since ResourceQuota none is exceeded: it needs pods=1/ },
  },
  {
    name: 'a Job that has failed',
    nodes: 1,
    manifests: [job({ backoffLimit: 0 }, { command: ['sh', '-c', 'echo no input; exit 4'] })],
    after: '30s',
    target: 'job once',
    expected: {
      code: 'CrashLoop',
      summary:
        /^Job default\/once has failed \(BackoffLimitExceeded\), 1 pod of it failed: .*exit code 4: no input\.$/,
      evidence: [/condition Failed is True/],
    },
  },
  {
    name: 'a suspended Job',
    manifests: [job({ suspend: true })],
    target: 'job once',
    expected: { code: 'Paused', summary: /runs no pods, since it is suspended\.$/ },
  },
  {
    name: 'a suspended CronJob',
    manifests: [
      {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { ...inDefault, name: 'nightly' },
        spec: {
          schedule: '0 0 * * *',
          suspend: true,
          jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
        },
      },
    ],
    target: 'cj nightly',
    expected: { code: 'Paused', summary: /^CronJob default\/nightly starts no Jobs, since it is suspended/ },
  },
  {
    name: 'a claim without a class in a cluster without a default class',
    manifests: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { ...inDefault, name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
    target: 'pvc data',
    expected: {
      code: 'ClaimPending',
      summary: /since it names no storage class, the cluster has no default class, and there is no available/,
    },
  },
  {
    name: 'a claim of a class that waits for a consumer',
    manifests: [
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'late' },
        provisioner: 'example.com/disk',
        volumeBindingMode: 'WaitForFirstConsumer',
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { ...inDefault, name: 'data' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'late',
          resources: { requests: { storage: '1Gi' } },
        },
      },
    ],
    target: 'pvc data',
    expected: {
      code: 'ClaimPending',
      summary: /"late" waits for a pod that uses the claim, and there is none/,
    },
  },
  {
    name: 'a Service whose selector matches no pod',
    nodes: 1,
    manifests: [deploymentOf(), service({ selector: { app: 'wbe' }, ports: [{ port: 80 }] })],
    target: 'svc web',
    expected: {
      code: 'NoEndpoints',
      summary: /has no endpoints, since no pod has the labels app=wbe of its selector/,
      evidence: [/labels are app=web/],
    },
  },
  {
    name: 'a Service whose pods crash',
    nodes: 1,
    manifests: [
      deploymentOf({ command: ['sh', '-c', 'exit 1'] }),
      service({ selector: { app: 'web' }, ports: [{ port: 80 }] }),
    ],
    after: '30s',
    target: 'svc web',
    expected: { code: 'CrashLoop', summary: /^Service default\/web has no ready endpoints: Container app/ },
  },
  {
    name: 'an Ingress with a backend that does not exist',
    manifests: [ingress({ name: 'gone', port: { number: 80 } })],
    target: 'ingress shop',
    expected: {
      code: 'MissingObject',
      summary: /cannot reach its backend, since Service gone does not exist\.$/,
    },
  },
  {
    name: 'an Ingress with a port that its backend does not have',
    nodes: 1,
    manifests: [
      deploymentOf(),
      service({ selector: { app: 'web' }, ports: [{ port: 80 }] }),
      ingress({ name: 'web', port: { number: 8080 } }),
    ],
    target: 'ingress shop',
    expected: { code: 'MissingObject', summary: /since Service web has no port 8080\.$/ },
  },
  {
    name: 'an Ingress with an unknown class',
    manifests: [ingress({ name: 'web', port: { number: 80 } }, { ingressClassName: 'nginx' })],
    target: 'ingress shop',
    expected: {
      code: 'MissingObject',
      summary: /is not served, since IngressClass "nginx" does not exist\.$/,
    },
  },
  {
    name: 'an autoscaler of pods without requests',
    nodes: 1,
    manifests: [
      deploymentOf(),
      {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { ...inDefault, name: 'web' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          maxReplicas: 3,
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
            },
          ],
        },
      },
    ],
    after: '1m',
    target: 'hpa web',
    expected: {
      code: 'Metrics',
      summary:
        /does not scale: it needs the utilization of cpu, of which containers of Deployment default\/web request none/,
    },
  },
  {
    name: 'an autoscaler without a target',
    manifests: [
      {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { ...inDefault, name: 'web' },
        spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'gone' }, maxReplicas: 3 },
      },
    ],
    after: '1m',
    target: 'hpa web',
    expected: {
      code: 'MissingObject',
      summary: /since its target Deployment default\/gone does not exist\.$/,
    },
  },
  {
    name: 'a PersistentVolume that no claim can use any more',
    manifests: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'disk' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          hostPath: { path: '/data' },
          claimRef: { namespace: 'default', name: 'gone', uid: 'gone' },
        },
      },
    ],
    target: 'pv disk',
    expected: { code: 'Unknown', summary: /^PersistentVolume disk is Released\.$/ },
  },
  {
    name: 'a running Deployment',
    nodes: 1,
    manifests: [deploymentOf()],
    target: 'deployments.apps web',
    expected: { code: 'Healthy', summary: /^Deployment default\/web has 1 replica, all ready\.$/ },
  },
  {
    name: 'a Pod that does not exist',
    manifests: [],
    target: 'pod gone',
    expected: { code: 'NotFound', summary: /^Pod default\/gone does not exist\.$/ },
  },
]

for (const { name, nodes: count = 0, manifests, after, target, expected } of cases) {
  test(`why explains ${name}`, async () => {
    await using cluster = await Cluster.start({ nodes: count })
    await cluster.apply(manifests)
    if (after === undefined) await cluster.settle()
    else await cluster.clock.advance(after)
    assertDiagnosis(await why(cluster, target), expected)
  })
}

test('why explains a rollout that does not complete while the previous pods keep running', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.apply([deploymentOf()])
  await cluster.settle()
  await cluster.apply([deploymentOf({ command: ['sh', '-c', 'echo no license; exit 5'] })])
  await cluster.clock.advance('30s')
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'CrashLoop',
    summary:
      /^Deployment default\/web is available, but its rollout does not complete: .* exit code 5: no license\.$/,
  })
})

test('why explains nodes: a cordoned one, and pods that find only such nodes', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const patch = { spec: { unschedulable: true } }
  await cluster.client.patch(nodes, { name: 'node-1' }, { type: 'merge', patch })
  await cluster.apply([deploymentOf()])
  await cluster.settle()
  assertDiagnosis(await why(cluster, 'node node-1'), {
    code: 'Taint',
    summary: /^Node node-1 takes no new pods, since it is cordoned\.$/,
    command: /^kubectl uncordon node-1$/,
  })
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'NotScheduled',
    summary: /since 1 node is cordoned\.$/,
  })
})

test('why explains an object that a finalizer keeps, with the field manager that set it', async () => {
  await using cluster = await Cluster.start()
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...inDefault, name: 'held', finalizers: ['example.com/hold'] },
      spec: { containers: [{ name: 'app', image: 'web' }] },
    },
  ])
  await cluster.client.delete(pods, { ...inDefault, name: 'held' })
  assertDiagnosis(await why(cluster, 'pod held'), {
    code: 'Finalizer',
    summary: /^Pod default\/held is not gone, since it still has the finalizer example\.com\/hold\.$/,
    evidence: [/example\.com\/hold: set by k8ts-testing, which must remove it/],
  })
})

test('why explains a custom resource by its conditions', async () => {
  await using cluster = await Cluster.start()
  const schema = { openAPIV3Schema: { 'type': 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  await cluster.apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'shops.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Shop', plural: 'shops' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  })
  await cluster.settle()
  const conditions = [
    { type: 'Ready', status: 'False', reason: 'NoLicense', message: 'the license has expired' },
  ]
  await cluster.apply({
    apiVersion: 'example.com/v1',
    kind: 'Shop',
    metadata: { ...inDefault, name: 'main' },
    status: { conditions },
  })
  assertDiagnosis(await why(cluster, 'shop main'), {
    code: 'Unknown',
    summary: /^Shop default\/main has the condition Ready False: the license has expired\.$/,
  })
})
