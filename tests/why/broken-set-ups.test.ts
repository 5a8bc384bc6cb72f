import { test } from 'node:test'
import { namespaces, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'
import { formatTime } from '#/api/text/time.ts'
import { assertDiagnosis, createSilentNode, deploymentOf, reportStatus, why } from './why-cluster.ts'

const inDefault = { namespace: 'default' }

test('image: names the image and what the registry says', async () => {
  await using cluster = await Cluster.start()
  await createSilentNode(cluster)
  await cluster.apply([deploymentOf({ image: 'nginx:nope' })])
  await cluster.settle()
  const reference = 'docker.io/library/nginx:nope'
  await reportStatus(cluster, {
    container: {
      image: 'nginx:nope',
      state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "nginx:nope"' } },
    },
    events: [
      [
        'Failed',
        'Failed to pull image "nginx:nope": rpc error: code = NotFound desc = failed to pull and unpack image ' +
          `"${reference}": failed to resolve reference "${reference}": ${reference}: not found`,
      ],
    ],
  })
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'ImagePull',
    summary: /has 0 of 1 replica ready: .* image "nginx:nope" cannot be pulled: the registry does not have/,
    evidence: [/waiting, ImagePullBackOff/, /Failed .*rpc error/],
    command: /^kubectl -n default edit deployment web$/,
  })
})

test('quota: names the quota with its numbers', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { ...inDefault, name: 'small' },
      spec: { hard: { pods: '1' } },
    },
  ])
  await cluster.settle()
  await cluster.apply([deploymentOf({}, { replicas: 3 })])
  await cluster.settle()
  assertDiagnosis(await why(cluster, 'deploy web'), {
    code: 'QuotaExceeded',
    summary:
      /1 of 3 .*, since ResourceQuota small is exceeded: it needs pods=1, and pods=1 of pods=1 are used\.$/,
    evidence: [/FailedCreate/, /^ResourceQuota default\/small: used: pods 1 of 1$/],
  })
})

test('taint: names the taint that the pod does not tolerate', async () => {
  await using cluster = await Cluster.start({ nodes: 2 })
  for (const name of ['node-1', 'node-2']) {
    const patch = { spec: { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] } }
    await cluster.client.patch(nodes, { name }, { type: 'merge', patch })
  }
  await cluster.apply([deploymentOf()])
  await cluster.settle()
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'Taint',
    summary:
      /, since all 2 nodes have the taint dedicated=gpu:NoSchedule, which the pod does not tolerate\.$/,
    evidence: [/PodScheduled is False/, /^Node node-1: has the taint/],
    command: /^kubectl taint nodes node-1 dedicated:NoSchedule-$/,
  })
})

test('claim: names the storage class that does not exist', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...inDefault, name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        resources: { requests: { storage: '1Gi' } },
      },
    },
    deploymentOf({}, { pod: { volumes } }),
  ])
  await cluster.settle()
  const summary =
    /PersistentVolumeClaim default\/data is Pending, since StorageClass "fast" does not exist\.$/
  assertDiagnosis(await why(cluster, 'pvc data'), { code: 'ClaimPending', summary })
  assertDiagnosis(await why(cluster, 'deployment web'), { code: 'ClaimPending', summary })
})

test('probe: names the probe and what it got', async () => {
  await using cluster = await Cluster.start()
  await createSilentNode(cluster)
  const readinessProbe = { httpGet: { path: '/healthy', port: 8080 } }
  await cluster.apply([deploymentOf({ readinessProbe })])
  await cluster.settle()
  await reportStatus(cluster, {
    phase: 'Running',
    container: { started: true, state: { running: { startedAt: formatTime(cluster.clock.now()) } } },
    events: [['Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 404']],
  })
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'Probe',
    summary:
      /Container app of .* is not ready, since its readiness probe fails: HTTP probe failed with statuscode: 404\.$/,
    evidence: [/readinessProbe of container app is .*\/healthy/],
  })
})

test('webhook down: names the webhook and its Service without endpoints', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(namespaces, { metadata: { name: 'guard' } })
  const service = { namespace: 'guard', name: 'hook', path: '/validate' }
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }]
  const webhook = {
    name: 'pods.guard.example.com',
    clientConfig: { service },
    rules,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'guard', name: 'hook' },
      spec: { selector: { app: 'hook' }, ports: [{ port: 443 }] },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'guard' },
      webhooks: [webhook],
    },
    deploymentOf(),
  ])
  await cluster.clock.advance('5s')
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'WebhookUnavailable',
    summary:
      /since admission webhook "pods\.guard\.example\.com" .* its Service guard\/hook has no ready endpoints\.$/,
    evidence: [/has failurePolicy Fail/],
    command: /^kubectl delete validatingwebhookconfiguration guard$/,
  })
})

test('crash loop: names the exit code and the last line of the log', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const command = ['sh', '-c', 'echo starting; echo cannot open database; exit 3']
  await cluster.apply([deploymentOf({ command })])
  await cluster.clock.advance('30s')
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'CrashLoop',
    summary: /Container app of Pod default\/web-\S+ keeps crashing with exit code 3: cannot open database\.$/,
    evidence: [/^log of container app: starting$/],
    command: /logs \S+ -c app --previous$/,
  })
})

test('out of memory: names the limit', async () => {
  await using cluster = await Cluster.start()
  await createSilentNode(cluster)
  await cluster.apply([deploymentOf({ resources: { limits: { memory: '32Mi' } } })])
  await cluster.settle()
  const now = formatTime(cluster.clock.now())
  const terminated = { exitCode: 137, reason: 'OOMKilled', startedAt: now, finishedAt: now }
  await reportStatus(cluster, {
    phase: 'Running',
    container: {
      restartCount: 4,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated },
    },
  })
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'OutOfMemory',
    summary: /was killed \(OOMKilled\), since it used more than its memory limit of 32Mi\.$/,
  })
})

test('DNS: names the DNS Service without endpoints', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const selector = { 'k8s-app': 'kube-dns' }
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'kube-system', name: 'kube-dns', labels: selector },
      spec: { selector, ports: [{ port: 53, protocol: 'UDP' }] },
    },
    deploymentOf({
      command: ['sh', '-c', 'echo "dial tcp: lookup db on 10.96.0.10:53: i/o timeout"; exit 1'],
    }),
  ])
  await cluster.clock.advance('30s')
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'Dns',
    summary:
      /cannot resolve "db", since the DNS Service kube-system\/kube-dns of the cluster has no ready endpoints\.$/,
    evidence: [/lookup db on/, /0 endpoints are ready/],
  })
})

test('network policy: names the policy that admits no client of a Service', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const podSelector = { matchLabels: { app: 'web' } }
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { ...inDefault, name: 'only-shop' },
  }
  await cluster.apply([
    deploymentOf(),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...inDefault, name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    },
    {
      ...policy,
      spec: { podSelector, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'shop' } } }] }] },
    },
  ])
  await cluster.settle()
  const expected = {
    code: 'NetworkPolicy',
    summary:
      /^Service default\/web .* NetworkPolicy only-shop .* admits only pods with app=shop, and there are none\.$/,
  } as const
  assertDiagnosis(await why(cluster, 'service web'), expected)
  await cluster.apply([{ ...policy, spec: { podSelector, ingress: [] } }])
  const summary = /only-shop selects its pods and admits no ingress traffic at all\.$/
  assertDiagnosis(await why(cluster, 'service web'), { ...expected, summary })
  const containers = [{ name: 'shop', image: 'shop' }]
  await cluster.apply([
    {
      ...policy,
      spec: { podSelector, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'shop' } } }] }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...inDefault, name: 'shop', labels: { app: 'shop' } },
      spec: { containers },
    },
  ])
  assertDiagnosis(await why(cluster, 'service web'), {
    code: 'Healthy',
    summary: /1 ready endpoint; network policies restrict/,
  })
})

test('node gone: pods name the node that stopped reporting', async () => {
  await using cluster = await Cluster.start({ nodes: 3 })
  await cluster.apply([deploymentOf()])
  await cluster.settle()
  const [first] = (await cluster.client.list(pods, inDefault)).items
  const { nodeName = '' } = first?.spec ?? {}
  await cluster.stopNode(nodeName)
  await cluster.clock.advance('2m')
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'NodeGone',
    summary: /has 0 of 1 replica ready: .* since its Node node-\d has stopped reporting \d+\w* ago\.$/,
    command: /^k8ts why node node-\d$/,
  })
  assertDiagnosis(await why(cluster, `node ${nodeName}`), {
    code: 'NodeGone',
    summary: /^Node node-\d is not ready, since it has stopped reporting \d+\w* ago; it has 1 pod\.$/,
  })
  await cluster.clock.advance('6m')
  const { items } = await cluster.client.list(pods, inDefault)
  const pod = items.find(({ metadata }) => metadata.deletionTimestamp !== undefined)
  assertDiagnosis(await why(cluster, `pod ${pod?.metadata.name ?? ''}`), {
    code: 'NodeGone',
    summary: /cannot finish terminating, since its Node node-\d has stopped reporting \d+m\w* ago\.$/,
    evidence: [/Ready is Unknown/, /node\.kubernetes\.io\/unreachable:NoExecute/],
    command: /delete pod \S+ --force --grace-period=0$/,
  })
  assertDiagnosis(await why(cluster, 'deployment web'), { code: 'Healthy', summary: /all ready/ })
})

test('finalizer: names the object, its finalizers and their field manager', async () => {
  await using cluster = await Cluster.start()
  await cluster.client.create(namespaces, { metadata: { name: 'old' } })
  await cluster.apply([
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'old', name: 'held', finalizers: ['example.com/hold'] },
    },
  ])
  await cluster.client.delete(namespaces, { name: 'old' })
  await cluster.clock.advance('30s')
  assertDiagnosis(await why(cluster, 'namespace old'), {
    code: 'Finalizer',
    summary:
      /^Namespace old is not gone, since ConfigMap old\/held in it still has finalizers: example\.com\/hold\.$/,
    evidence: [/NamespaceFinalizersRemaining is True/, /^ConfigMap old\/held: finalizers/],
    command: /^kubectl -n old patch configmap held --type=merge/,
  })
})

test('RBAC: names the account and the request that is denied', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const message =
    'secrets is forbidden: User "system:serviceaccount:default:app" cannot list resource "secrets" ' +
    'in API group "" in the namespace "shop"'
  await cluster.apply([deploymentOf({ command: ['sh', '-c', `echo '${message}'; exit 1`] })])
  await cluster.clock.advance('30s')
  assertDiagnosis(await why(cluster, 'deployment web'), {
    code: 'Rbac',
    summary: /fails, since its ServiceAccount default\/app may not list secrets in namespace shop\.$/,
    command:
      /^kubectl -n shop create rolebinding list-secrets --role=list-secrets --serviceaccount=default:app$/,
  })
})
