import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alwaysDeny } from './always-deny.ts'
import { clusterTrustBundleAttest } from './cluster-trust-bundle-attest.ts'
import { jobValidation } from './job-validation.ts'
import { nodeDeclaredFeatureValidator } from './node-declared-feature-validator.ts'
import { podGroupProtection } from './pod-group-protection.ts'
import { podGroupWorkloadExists } from './pod-group-workload-exists.ts'
import { podPreset } from './pod-preset.ts'
import { podResizeValidator } from './pod-resize-validator.ts'
import { resourceOf } from '#/api/builtin.ts'
import { configMap, container, node, outcome, pod, pods, startWith } from '../testdata/plugin-server.ts'

const presets = '/apis/settings.k8s.io/v1alpha1/namespaces/default/podpresets'

function preset(name: string, spec: object): object {
  return {
    kind: 'PodPreset',
    apiVersion: 'settings.k8s.io/v1alpha1',
    metadata: { name },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
  }
}

const web = { labels: { app: 'web' } }

test('PodPreset: matching presets are merged into new pods', async t => {
  const { given, admitted } = await startWith(t, podPreset)
  const { metadata } = (await given(
    presets,
    preset('db', {
      env: [{ name: 'DB', value: 'x' }],
      envFrom: [{ configMapRef: { name: 'c' } }],
      volumes: [{ name: 'cache', emptyDir: {} }],
      volumeMounts: [{ name: 'cache', mountPath: '/cache' }],
    }),
  )) as never as { metadata: { resourceVersion: string } }
  const body = await admitted(
    pods,
    pod('p', { containers: [container({ env: [{ name: 'OWN', value: 'y' }] })] }, web),
  )
  const [first] = body['spec']['containers'] as never as readonly Record<string, unknown>[]
  assert.deepEqual(
    [first!['env'], first!['envFrom'], first!['volumeMounts']],
    [
      [
        { name: 'OWN', value: 'y' },
        { name: 'DB', value: 'x' },
      ],
      [{ configMapRef: { name: 'c' } }],
      [{ name: 'cache', mountPath: '/cache' }],
    ],
  )
  assert.deepEqual(body['spec']['volumes'], [{ name: 'cache', emptyDir: {} }])
  assert.deepEqual(body['metadata']['annotations'], {
    'podpreset.admission.kubernetes.io/podpreset-db': metadata.resourceVersion,
  })
  assert.equal((await admitted(pods, pod('q')))['metadata']['annotations'], undefined)
  const excluded = { ...web, annotations: { 'podpreset.admission.kubernetes.io/exclude': 'true' } }
  assert.equal((await admitted(pods, pod('r', {}, excluded)))['spec']['volumes'], undefined)
})

test('PodPreset: a pod with conflicting presets is unchanged', async t => {
  const { given, admitted } = await startWith(t, podPreset)
  await given(
    presets,
    preset('a', { env: [{ name: 'A', value: '1' }], volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
  )
  const same = {
    containers: [container({ env: [{ name: 'A', value: '1' }] })],
    volumes: [{ name: 'v', emptyDir: {} }],
  }
  assert.ok((await admitted(pods, pod('p', same, web)))['metadata']['annotations'])
  const other = { containers: [container({ env: [{ name: 'A', value: '2' }] })] }
  assert.equal((await admitted(pods, pod('q', other, web)))['metadata']['annotations'], undefined)
  await given(presets, preset('b', { volumeMounts: [{ name: 'w', mountPath: '/v' }] }))
  assert.equal((await admitted(pods, pod('r', {}, web)))['metadata']['annotations'], undefined)
})

test('PodPreset: the resource is served while the plugin is enabled', async t => {
  const { create, request } = await startWith(t, podPreset)
  assert.equal(
    await create(presets, preset('a', {})),
    '422 PodPreset.settings.k8s.io "a" is invalid: ' +
      'spec.volumes.env.envFrom.volumeMounts: Required value: must specify at least one',
  )
  assert.match(
    await create(`${presets}?fieldValidation=Strict`, preset('a', { env: [], more: 1 })),
    /^400 .*unknown field "spec.more"/u,
  )
  const { body } = await request('GET', '/apis/settings.k8s.io/v1alpha1')
  assert.deepEqual(
    (body['resources'] as never as readonly { name: string }[]).map(each => each.name),
    ['podpresets'],
  )
  assert.equal((await request('GET', '/openapi/v2')).code, 200)
  assert.match((await request('GET', presets)).text, /"kind":"PodPresetList"/u)
})

test("PodResizeValidator: rejects a resize beyond the node's allocatable resources", async t => {
  const { given, patch } = await startWith(t, podResizeValidator)
  const capacity = { cpu: '2', memory: '1Gi', pods: '10' }
  await given(
    '/api/v1/nodes',
    node('n', { status: { capacity, allocatable: capacity } }, { labels: { 'kubernetes.io/os': 'linux' } }),
  )
  await given(
    '/api/v1/nodes',
    node('w', { status: { capacity, allocatable: capacity } }, { labels: { 'kubernetes.io/os': 'windows' } }),
  )
  const asking = (cpu: string, memory: string): object => ({
    containers: [container({ resources: { requests: { cpu, memory } } })],
  })
  const resize = (name: string, cpu: string, memory: string): Promise<string> =>
    patch(`${pods}/${name}/resize`, { spec: asking(cpu, memory) })
  for (const [name, nodeName] of [
    ['a', 'n'],
    ['b', 'w'],
    ['c', 'gone'],
  ] as const) {
    await given(pods, pod(name, { ...asking('1', '512Mi'), nodeName }))
  }
  await given(pods, pod('d', asking('1', '512Mi')))
  assert.equal(await resize('a', '2', '1Gi'), 'ok')
  assert.equal(
    await resize('a', '3', '2Gi'),
    '403 pods "a" is forbidden: node didn\'t have enough allocatable resources: ' +
      'cpu, requested: 3000, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824',
  )
  assert.equal(
    await resize('b', '2', '1Gi'),
    '403 pods "b" is forbidden: pod resize is only supported on linux nodes, node "w" is "windows"',
  )
  assert.equal(await resize('c', '2', '1Gi'), '403 pods "c" is forbidden: node "gone" not found')
  assert.equal(await resize('d', '9', '9Gi'), 'ok')
})

test('NodeDeclaredFeatureValidator: rejects updates that require features the node lacks', async t => {
  const { given, patch } = await startWith(t, nodeDeclaredFeatureValidator)
  await given(
    '/api/v1/nodes',
    node('new', { status: { declaredFeatures: ['InPlacePodLevelResourcesVerticalScaling'] } }),
  )
  await given('/api/v1/nodes', node('old'))
  const whole = (cpu: string): object => ({ resources: { requests: { cpu }, limits: { cpu } } })
  for (const nodeName of ['new', 'old']) await given(pods, pod(nodeName, { ...whole('1'), nodeName }))
  assert.equal(await patch(`${pods}/new/resize`, { spec: whole('2') }), 'ok')
  assert.equal(
    await patch(`${pods}/old/resize`, { spec: whole('2') }),
    '403 pods "old" is forbidden: ' +
      'pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "old"',
  )
  assert.equal(await patch(`${pods}/old`, { metadata: { labels: { a: 'b' } } }), 'ok')
})

test('plugins of resources that are disabled by default work when the resources are enabled', async t => {
  const server = await startWith(t, [
    context => {
      for (const [group, version, resource] of [
        ['scheduling.k8s.io', 'v1alpha2', 'podgroups'],
        ['scheduling.k8s.io', 'v1alpha2', 'workloads'],
        ['certificates.k8s.io', 'v1beta1', 'clustertrustbundles'],
      ] as const)
        context.scheme.register(resourceOf({ group, version, resource }))
      return podGroupProtection()
    },
    podGroupWorkloadExists,
    jobValidation,
    context =>
      clusterTrustBundleAttest({
        ...context,
        authorizer: {
          authorize: each => {
            return {
              decision: each.isResource && each.name === 'example.com/good' ? 'allow' : 'no opinion',
              reason: '',
            }
          },
        },
      }),
  ])
  const scheduling = '/apis/scheduling.k8s.io/v1alpha2/namespaces/default'
  const apiVersion = 'scheduling.k8s.io/v1alpha2'
  const group = (name: string, workloadName: string, podGroupTemplateName: string): object => ({
    kind: 'PodGroup',
    apiVersion,
    metadata: { name },
    spec: {
      schedulingPolicy: { gang: { minCount: 2 } },
      podGroupTemplateRef: { workload: { workloadName, podGroupTemplateName } },
    },
  })
  await server.given(`${scheduling}/workloads`, {
    kind: 'Workload',
    apiVersion,
    metadata: { name: 'w' },
    spec: {
      podGroupTemplates: [{ name: 't', schedulingPolicy: { gang: { minCount: 2 } } }],
    },
  })
  const made = await server.admitted(`${scheduling}/podgroups`, group('g', 'w', 't'))
  assert.deepEqual(made['metadata']['finalizers'], ['scheduling.k8s.io/podgroup-protection'])
  assert.match(
    await server.create(`${scheduling}/podgroups`, group('h', 'x', 't')),
    /PodGroup rejected: Workload "x" not found$/u,
  )
  assert.match(
    await server.create(`${scheduling}/podgroups`, group('h', 'w', 'u')),
    /PodGroupTemplate "u" not found in Workload "w"$/u,
  )
  const bundle = (name: string, signerName: string): object => ({
    kind: 'ClusterTrustBundle',
    apiVersion: 'certificates.k8s.io/v1beta1',
    metadata: { name },
    spec: {
      signerName,
      trustBundle: 'x',
    },
  })
  const bundles = '/apis/certificates.k8s.io/v1beta1/clustertrustbundles'
  assert.equal(
    await server.create(bundles, bundle('example.com.bad.x', 'example.com/bad')),
    '403 clustertrustbundles.certificates.k8s.io "example.com.bad.x" is forbidden: ' +
      'user not permitted to attest for signerName "example.com/bad"',
  )
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const template = { spec: { containers: [container()], restartPolicy: 'Never' } }
  const { metadata } = (await server.given(jobs, {
    kind: 'Job',
    apiVersion: 'batch/v1',
    metadata: { name: 'j' },
    spec: { parallelism: 1, template },
  })) as never as { metadata: { uid: string } }
  assert.equal(await server.patch(`${jobs}/j`, { spec: { parallelism: 2 } }), 'ok')
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: metadata.uid, controller: true }
  await server.given(`${scheduling}/podgroups`, {
    ...group('owned', 'w', 't'),
    metadata: { name: 'owned', ownerReferences: [owner] },
  })
  assert.equal(
    await server.patch(`${jobs}/j`, { spec: { parallelism: 3 } }),
    '403 jobs.batch "j" is forbidden: cannot change parallelism for a Job referencing gang-scheduled PodGroup "owned"',
  )
  assert.equal(await server.patch(`${jobs}/j`, { metadata: { labels: { a: 'b' } } }), 'ok')
})

test('AlwaysDeny: rejects every write and no read', async t => {
  let isOn = false
  const denial = alwaysDeny()
  const { create, request } = await startWith(t, () => ({
    ...denial,
    validate: each => (isOn ? denial.validate?.(each) : undefined),
  }))
  isOn = true
  const maps = '/api/v1/namespaces/default/configmaps'
  assert.equal(
    await create(maps, configMap('a')),
    '403 configmaps "a" is forbidden: admission control is denying all modifications',
  )
  assert.equal(outcome(await request('GET', maps)), 'ok')
})
