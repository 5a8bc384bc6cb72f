import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alwaysPullImages } from './always-pull-images.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { extendedResourceToleration } from './extended-resource-toleration.ts'
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts'
import { podTopologyLabels } from './pod-topology-labels.ts'
import { runtimeClass } from './runtime-class.ts'
import { securityContextDeny } from './security-context-deny.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'
import { container, node, pod, pods, startWith } from '../testdata/plugin-server.ts'

const lasting = (key: string, tolerationSeconds = 300): object => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds,
})
const notReady = 'node.kubernetes.io/not-ready'
const unreachable = 'node.kubernetes.io/unreachable'

test('DefaultTolerationSeconds: adds tolerations of 300 seconds unless the pod has its own', async t => {
  const { admitted } = await startWith(t, defaultTolerationSeconds)
  const check = async (
    name: string,
    tolerations: readonly object[],
    expected: readonly object[],
  ): Promise<void> => {
    const body = await admitted(pods, pod(name, { tolerations }))
    assert.deepEqual(body['spec']['tolerations'], [...tolerations, ...expected])
  }
  await check('a', [], [lasting(notReady), lasting(unreachable)])
  await check('b', [lasting(notReady, 5)], [lasting(unreachable)])
  await check('c', [{ operator: 'Exists' }], [])
  await check('d', [{ key: unreachable, operator: 'Exists' }], [lasting(notReady)])
  await check(
    'e',
    [{ key: notReady, operator: 'Exists', effect: 'NoSchedule' }],
    [lasting(notReady), lasting(unreachable)],
  )
  const { admitted: short } = await startWith(t, defaultTolerationSeconds, {
    context: { tolerationSeconds: { notReady: 1, unreachable: 2 } },
  })
  assert.deepEqual((await short(pods, pod('p')))['spec']['tolerations'], [
    lasting(notReady, 1),
    lasting(unreachable, 2),
  ])
})

test('TaintNodesByCondition: a new node gets the not-ready taint', async t => {
  const { admitted } = await startWith(t, taintNodesByCondition)
  const taint = { key: notReady, effect: 'NoSchedule' }
  assert.deepEqual((await admitted('/api/v1/nodes', node('a')))['spec']['taints'], [taint])
  assert.deepEqual(
    (await admitted('/api/v1/nodes', node('b', { spec: { taints: [taint] } })))['spec']['taints'],
    [taint],
  )
  const other = { key: 'a', value: 'b', effect: 'NoSchedule' }
  assert.deepEqual(
    (await admitted('/api/v1/nodes', node('c', { spec: { taints: [other] } })))['spec']['taints'],
    [other, taint],
  )
})

test('AlwaysPullImages: sets pullPolicy Always for new images of containers and volumes', async t => {
  const { admitted, given, patch } = await startWith(t, alwaysPullImages)
  const lazy = (name: string): object => container({ name, imagePullPolicy: 'IfNotPresent' })
  const body = await admitted(
    pods,
    pod('p', {
      containers: [lazy('a')],
      initContainers: [lazy('i')],
      volumes: [{ name: 'v', image: { reference: 'x', pullPolicy: 'Never' } }],
    }),
  )
  const { containers, initContainers, volumes } = body['spec'] as never as Record<
    string,
    readonly {
      imagePullPolicy: string
      image: object
    }[]
  >
  assert.deepEqual(
    [containers![0]!.imagePullPolicy, initContainers![0]!.imagePullPolicy],
    ['Always', 'Always'],
  )
  assert.deepEqual(volumes![0]!.image, { reference: 'x', pullPolicy: 'Always' })
  await given(pods, pod('q', { containers: [container({ imagePullPolicy: 'Always' })] }))
  assert.equal(await patch(`${pods}/q`, { metadata: { labels: { a: 'b' } } }), 'ok')
})

test('ExtendedResourceToleration: pods with extended resources get matching tolerations', async t => {
  const { admitted } = await startWith(t, extendedResourceToleration)
  const resources = { limits: { 'example.com/gpu': '1', 'cpu': '1' }, requests: { 'example.com/gpu': '1' } }
  const tolerations = [{ key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]
  assert.deepEqual(
    (await admitted(pods, pod('a', { containers: [container({ resources })] })))['spec']['tolerations'],
    tolerations,
  )
  const twice = await admitted(pods, pod('b', { containers: [container({ resources })], tolerations }))
  assert.deepEqual(twice['spec']['tolerations'], tolerations)
  assert.equal((await admitted(pods, pod('c')))['spec']['tolerations'], undefined)
})

test('LimitPodHardAntiAffinityTopology: required anti-affinity allows only the hostname topology', async t => {
  const { create } = await startWith(t, limitPodHardAntiAffinityTopology)
  const apart = (topologyKey: string): object => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }],
      },
    },
  })
  assert.equal(await create(pods, pod('a', apart('kubernetes.io/hostname'))), 'ok')
  assert.equal(
    await create(pods, pod('b', apart('topology.kubernetes.io/zone'))),
    '403 pods "b" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ' +
      'topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed',
  )
})

test('SecurityContextDeny: rejects pods that set user fields in the security context', async t => {
  const { create } = await startWith(t, securityContextDeny)
  const check = async (name: string, spec: object, expected: string): Promise<void> => {
    assert.equal(
      await create(pods, pod(name, spec)),
      expected === 'ok' ? 'ok' : `403 pods "${name}" is forbidden: ${expected} is forbidden`,
    )
  }
  const inside = (securityContext: object): object => ({ containers: [container({ securityContext })] })
  await check('a', { securityContext: { runAsNonRoot: true } }, 'ok')
  await check(
    'b',
    { securityContext: { supplementalGroups: [1] } },
    'pod.Spec.SecurityContext.SupplementalGroups',
  )
  await check(
    'c',
    { securityContext: { seLinuxOptions: { level: 's0' } } },
    'pod.Spec.SecurityContext.SELinuxOptions',
  )
  await check('d', { securityContext: { runAsUser: 0 } }, 'pod.Spec.SecurityContext.RunAsUser')
  await check('e', { securityContext: { fsGroup: 0 } }, 'pod.Spec.SecurityContext.FSGroup')
  await check('f', inside({ runAsUser: 1 }), 'SecurityContext.RunAsUser')
  await check('g', inside({ seLinuxOptions: {} }), 'SecurityContext.SELinuxOptions')
  await check('h', inside({ privileged: true }), 'ok')
})

test('PodTopologyLabels: a bound pod gets the topology labels of its node', async t => {
  const { admitted, given, request } = await startWith(t, podTopologyLabels)
  const topology = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r' }
  await given('/api/v1/nodes', node('n', {}, { labels: { ...topology, other: 'x' } }))
  const placed = await admitted(
    pods,
    pod('a', { nodeName: 'n' }, { labels: { 'app': 'web', 'topology.kubernetes.io/zone': 'wrong' } }),
  )
  assert.deepEqual(placed['metadata']['labels'], { app: 'web', ...topology })
  assert.equal((await admitted(pods, pod('b', { nodeName: 'unknown' })))['metadata']['labels'], undefined)
  await given(pods, pod('c'))
  const binding = {
    kind: 'Binding',
    apiVersion: 'v1',
    metadata: { name: 'c' },
    target: { kind: 'Node', name: 'n' },
  }
  assert.equal((await request('POST', `${pods}/c/binding`, binding)).code, 201)
  const bound = await request('GET', `${pods}/c`)
  assert.deepEqual([bound.body['spec']!['nodeName'], bound.body['metadata']['labels']], ['n', topology])
})

test('RuntimeClass: a pod gets the overhead and scheduling of its class', async t => {
  const { admitted, create, given } = await startWith(t, runtimeClass)
  const toleration = { key: 'k', operator: 'Exists' }
  await given('/apis/node.k8s.io/v1/runtimeclasses', {
    kind: 'RuntimeClass',
    apiVersion: 'node.k8s.io/v1',
    metadata: { name: 'vm' },
    handler: 'vm',
    overhead: { podFixed: { cpu: '100m' } },
    scheduling: { nodeSelector: { disk: 'fast' }, tolerations: [toleration] },
  })
  await given('/apis/node.k8s.io/v1/runtimeclasses', {
    kind: 'RuntimeClass',
    apiVersion: 'node.k8s.io/v1',
    metadata: { name: 'plain' },
    handler: 'plain',
  })
  const body = await admitted(
    pods,
    pod('a', { runtimeClassName: 'vm', nodeSelector: { zone: 'z' }, tolerations: [toleration] }),
  )
  const { overhead, nodeSelector, tolerations } = body['spec'] as never as Record<string, object>
  assert.deepEqual(
    [overhead, nodeSelector, tolerations],
    [{ cpu: '100m' }, { zone: 'z', disk: 'fast' }, [toleration]],
  )
  const check = async (name: string, spec: object, expected: string): Promise<void> => {
    assert.equal(
      await create(pods, pod(name, spec)),
      expected === 'ok' ? 'ok' : `403 pods "${name}" is forbidden: ${expected}`,
    )
  }
  await check('b', { runtimeClassName: 'vm', overhead: { cpu: '0.1' } }, 'ok')
  await check(
    'c',
    { runtimeClassName: 'vm', overhead: { cpu: '1' } },
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  )
  await check(
    'd',
    { overhead: { cpu: '1' } },
    'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  )
  await check('e', { runtimeClassName: 'none' }, 'pod rejected: RuntimeClass "none" not found')
  await check(
    'f',
    { runtimeClassName: 'vm', nodeSelector: { disk: 'slow' } },
    'conflict: runtimeClass.scheduling.nodeSelector[disk] = fast; pod.spec.nodeSelector[disk] = slow',
  )
  await check('g', { runtimeClassName: 'plain' }, 'ok')
})
