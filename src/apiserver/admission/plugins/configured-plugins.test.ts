import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import { eventRateLimit } from './event-rate-limit.ts'
import { imagePolicyWebhook } from './image-policy-webhook.ts'
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts'
import { ConfigurationError, type PluginContext } from '../plugin-context.ts'
import { podNodeSelector } from './pod-node-selector.ts'
import { podTolerationRestriction } from './pod-toleration-restriction.ts'
import { fakeConnect, withKubeconfig } from '../../test-webhook-server.ts'
import { configMap, container, namespace, pod, pods, startWith } from '../testdata/plugin-server.ts'

const podsIn = (name: string): string => `/api/v1/namespaces/${name}/pods`

test("PodNodeSelector: merges the namespace's node selector and enforces its whitelist", async t => {
  const configuration = {
    podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'env=prod', limited: 'env=test, disk=fast' },
  }
  const { given, admitted, create } = await startWith(t, podNodeSelector, { configuration })
  const annotated = (selector: string): object => ({
    annotations: { 'scheduler.alpha.kubernetes.io/node-selector': selector },
  })
  await given('/api/v1/namespaces', namespace('own', annotated('env=test,zone=z')))
  await given('/api/v1/namespaces', namespace('limited', annotated('env=test')))
  await given('/api/v1/namespaces', namespace('odd', annotated('env in (a)')))
  const selectorOf = async (url: string, nodeSelector: object = {}): Promise<unknown> =>
    (await admitted(url, pod('p', { nodeSelector })))['spec']['nodeSelector']
  assert.deepEqual(await selectorOf(podsIn('default'), { a: 'b' }), { a: 'b', env: 'prod' })
  assert.deepEqual(await selectorOf(podsIn('own')), { env: 'test', zone: 'z' })
  assert.deepEqual(await selectorOf(podsIn('limited'), { disk: 'fast' }), { env: 'test', disk: 'fast' })
  assert.equal(
    await create(podsIn('own'), pod('q', { nodeSelector: { env: 'prod' } })),
    '403 pods "q" is forbidden: pod node label selector conflicts with its namespace node label selector',
  )
  assert.equal(
    await create(podsIn('limited'), pod('q', { nodeSelector: { zone: 'z' } })),
    '403 pods "q" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  )
  assert.match(
    await create(podsIn('odd'), pod('q')),
    /^403 .*invalid node selector of the namespace: env in \(a\)$/u,
  )
})

test("PodTolerationRestriction: adds the namespace's default tolerations and enforces its whitelist", async t => {
  const toleration = (key: string, fields: object = {}): { [key: string]: JsonValue } => ({
    key,
    operator: 'Exists',
    effect: 'NoSchedule',
    ...fields,
  })
  const configuration = {
    kind: 'Configuration',
    apiVersion: 'podtolerationrestriction.admission.k8s.io/v1alpha1',
    default: [toleration('cluster')],
    whitelist: [toleration('cluster'), toleration('node.kubernetes.io/memory-pressure')],
  }
  const { given, admitted, create } = await startWith(t, podTolerationRestriction, { configuration })
  const prefix = 'scheduler.alpha.kubernetes.io/'
  const annotated = (defaults: string, allowed: string): object => ({
    annotations: { [`${prefix}defaultTolerations`]: defaults, [`${prefix}tolerationsWhitelist`]: allowed },
  })
  await given(
    '/api/v1/namespaces',
    namespace(
      'own',
      annotated(JSON.stringify([toleration('own')]), JSON.stringify([{ operator: 'Exists' }])),
    ),
  )
  await given('/api/v1/namespaces', namespace('free', annotated('', '')))
  await given('/api/v1/namespaces', namespace('odd', annotated('{', '')))
  const tolerationsOf = async (url: string, spec: object = {}): Promise<unknown> =>
    (await admitted(url, pod('p', spec)))['spec']['tolerations']
  assert.deepEqual(await tolerationsOf(podsIn('default')), [toleration('cluster')])
  assert.deepEqual(await tolerationsOf(podsIn('own'), { tolerations: [toleration('mine')] }), [
    toleration('mine'),
    toleration('own'),
  ])
  assert.equal(await tolerationsOf(podsIn('free')), undefined)
  const asking = { containers: [container({ resources: { requests: { cpu: '1' } } })] }
  assert.deepEqual(await tolerationsOf(podsIn('kube-system'), asking), [
    toleration('cluster'),
    toleration('node.kubernetes.io/memory-pressure'),
  ])
  assert.equal(
    await create(podsIn('default'), pod('q', { tolerations: [toleration('mine')] })),
    '403 pods "q" is forbidden: ' +
      'pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist',
  )
  assert.match(
    await create(podsIn('odd'), pod('q')),
    /^403 .*invalid annotation .* of the namespace: not JSON$/u,
  )
})

const limits = (...list: readonly { [key: string]: JsonValue }[]): JsonValue => ({
  kind: 'Configuration',
  apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
  limits: [...list],
})

function event(name: string, about = 'p'): object {
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name },
    reason: 'x',
    type: 'Normal',
    source: { component: 'test' },
    involvedObject: { kind: 'Pod', apiVersion: 'v1', name: about, namespace: 'default' },
  }
}

test('EventRateLimit: rejects events over the limit and admits them again later', async t => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('server')
  const events = '/api/v1/namespaces/default/events'
  await simulation.run(
    (async () => {
      const configuration = limits(
        { type: 'Namespace', qps: 1, burst: 3 },
        { type: 'SourceAndObject', qps: 1, burst: 2 },
      )
      const { create } = await startWith(t, eventRateLimit, { platform, configuration })
      assert.equal(await create(events, event('a')), 'ok')
      assert.equal(await create(events, event('b')), 'ok')
      assert.equal(
        await create(events, event('c')),
        '429 limit reached on type SourceAndObject for key testPoddefaultpv1',
      )
      assert.equal(
        await create(events, event('d', 'other')),
        '429 limit reached on type Namespace for key default',
      )
      assert.equal(await create(`${events}?dryRun=All`, event('d')), 'ok')
      await platform.clock.sleep(1_100)
      assert.equal(await create(events, event('d')), 'ok')
      assert.match(
        await create(events, event('e')),
        /^429 \[limit reached on type Namespace .*, limit reached on type SourceAndObject /u,
      )
    })(),
  )
})

test('invalid configurations of EventRateLimit, PodNodeSelector and ImagePolicyWebhook are rejected', () => {
  const context = {
    platform: new Simulation({ seed: 1 }).host('server'),
  } as Partial<PluginContext> as PluginContext
  const check = (
    make: (context: PluginContext, configuration?: JsonValue) => unknown,
    value: JsonValue | undefined,
    expected: RegExp,
  ): void => {
    assert.throws(
      () => make(context, value),
      (error: Error) => error instanceof ConfigurationError && expected.test(error.message),
    )
  }
  check(eventRateLimit, undefined, /requires a configuration/u)
  check(eventRateLimit, limits(), /limits: Invalid value: .*must not be empty/u)
  check(
    eventRateLimit,
    limits({ type: 'Sun', qps: 1, burst: 1 }),
    /limits\[0\].type: Unsupported value: "Sun"/u,
  )
  check(
    eventRateLimit,
    limits({ type: 'constructor', qps: 1, burst: 1 }),
    /Unsupported value: "constructor"/u,
  )
  check(
    eventRateLimit,
    limits({ type: 'User', qps: 0, burst: -1, cacheSize: -1 }),
    /burst: .*qps: .*cacheSize: /u,
  )
  check(eventRateLimit, limits({ type: 'User', qps: '1' }), /cannot decode/u)
  check(
    eventRateLimit,
    { kind: 'Other', apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1' },
    /kind must be Configuration/u,
  )
  check(eventRateLimit, { kind: 'Configuration', apiVersion: 'v1' }, /unsupported apiVersion "v1"/u)
  check(podNodeSelector, { podNodeSelectorPluginConfig: {}, more: 1 }, /unknown fields: more/u)
  check(imagePolicyWebhook, undefined, /no config specified/u)
  check(imagePolicyWebhook, { imagePolicy: {} }, /outgoing HTTP is not configured/u)
  const asking = { ...context, connectHttp: fakeConnect(async () => null) }
  const policy = (imagePolicy: JsonValue, expected: RegExp): void =>
    check((_, value) => imagePolicyWebhook(asking, value), { imagePolicy }, expected)
  policy({}, /imagePolicy\.kubeConfigFile is required/u)
  policy({ kubeConfigFile: 'x', allowTTL: 3_600 }, /valid value is between 1s and 30m0s, got 1h0m0s/u)
})

test('ImagePolicyWebhook: the backend decides, and its response is cached', async t => {
  const simulation = new Simulation({ seed: 1 })
  const platform = withKubeconfig(simulation.host('server'), '/etc/policy')
  await simulation.run(
    (async () => {
      const asked: JsonValue[] = []
      const connectHttp = fakeConnect(async (file, review): Promise<JsonValue> => {
        asked.push(review)
        assert.equal(file, '/etc/policy')
        const isBad = JSON.stringify(review).includes('bad')
        return {
          status: isBad
            ? { allowed: false, reason: 'no bad images' }
            : { allowed: true, auditAnnotations: { seen: 'yes' } },
        }
      })
      const configuration = { imagePolicy: { kubeConfigFile: '/etc/policy', allowTTL: 60, denyTTL: 1 } }
      const { create, patch } = await startWith(t, imagePolicyWebhook, {
        platform,
        configuration,
        context: { connectHttp },
      })
      const annotations = { 'mine.image-policy.k8s.io/x': 'y', 'other': 'z' }
      assert.equal(
        await create(
          pods,
          pod('a', { initContainers: [container({ name: 'i', image: 'first' })] }, { annotations }),
        ),
        'ok',
      )
      assert.deepEqual(asked, [
        {
          apiVersion: 'imagepolicy.k8s.io/v1alpha1',
          kind: 'ImageReview',
          spec: {
            containers: [{ image: 'nginx' }, { image: 'first' }],
            annotations: { 'mine.image-policy.k8s.io/x': 'y' },
            namespace: 'default',
          },
        },
      ])
      assert.equal(await create(pods, pod('b')), 'ok')
      assert.equal(await create(pods, pod('c')), 'ok')
      assert.equal(asked.length, 2)
      const bad = (): Promise<string> => create(pods, pod('d', { containers: [container({ image: 'bad' })] }))
      const refusal =
        '403 pods "d" is forbidden: image policy webhook backend denied one or more images: no bad images'
      assert.deepEqual([await bad(), await bad(), asked.length], [refusal, refusal, 3])
      await platform.clock.sleep(1_500)
      assert.deepEqual([await bad(), asked.length], [refusal, 4])
      const debug = { spec: { ephemeralContainers: [container({ name: 'e', image: 'bad' })] } }
      assert.match(await patch(`${pods}/a/ephemeralcontainers`, debug), /^403 .*no bad images$/u)
    })(),
  )
})

test('ImagePolicyWebhook: defaultAllow decides if the backend is unavailable', async t => {
  const check = async (defaultAllow: boolean, answer: JsonValue | Error, expected: string): Promise<void> => {
    const simulation = new Simulation({ seed: 1 })
    const platform = withKubeconfig(simulation.host('server'), '/etc/policy')
    let attempts = 0
    const connectHttp = fakeConnect(async () => {
      attempts++
      if (answer instanceof Error) throw answer
      return answer
    })
    const configuration = { imagePolicy: { kubeConfigFile: '/etc/policy', defaultAllow } }
    await simulation.run(
      (async () => {
        const { create } = await startWith(t, imagePolicyWebhook, {
          platform,
          configuration,
          context: { connectHttp },
        })
        assert.deepEqual([await create(pods, pod('p')), attempts], [expected, 5])
      })(),
    )
  }
  const nobody = new Error('nobody answers')
  await check(true, nobody, 'ok')
  await check(false, nobody, '403 pods "p" is forbidden: nobody answers')
  await check(
    false,
    { status: 'odd' },
    '403 pods "p" is forbidden: image policy webhook backend returned an invalid ImageReview',
  )
  await check(
    false,
    null,
    '403 pods "p" is forbidden: image policy webhook backend returned an invalid ImageReview',
  )
})

test('OwnerReferencesPermissionEnforcement: requires delete, and finalizers for blockOwnerDeletion', async t => {
  const maps = '/api/v1/namespaces/default/configmaps'
  const owner = (fields: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'n',
    uid: 'u',
    ...fields,
  })
  const check = async (
    allowed: readonly string[],
    change: { create?: object; update?: object },
    expected: string,
  ): Promise<void> => {
    const authorizer: Authorizer = {
      authorize: each => ({
        decision:
          each.isResource &&
          allowed.includes(`${each.verb} ${each.resource}/${each.subresource} ${each.name}`)
            ? 'allow'
            : 'no opinion',
        reason: 'because',
      }),
    }
    const { create, given, patch } = await startWith(t, ownerReferencesPermissionEnforcement, {
      context: { authorizer },
    })
    const owned = (reference: object): object => ({ metadata: { ownerReferences: [reference] } })
    await given(maps, configMap('old'))
    const text = change.create
      ? await create(maps, { ...configMap('m'), metadata: { name: 'm', ownerReferences: [change.create] } })
      : await patch(`${maps}/old`, owned(change.update!))
    const name = change.create ? 'm' : 'old'
    assert.equal(text, expected === 'ok' ? 'ok' : `403 configmaps "${name}" is forbidden: ${expected}`)
  }
  const blocking = { blockOwnerDeletion: true }
  const unfinalized =
    'cannot set blockOwnerDeletion if an ownerReference refers to a resource ' +
    "you can't set finalizers on: because, <nil>"
  await check([], { create: owner() }, 'ok')
  await check(
    [],
    { update: owner() },
    "cannot set an ownerRef on a resource you can't delete: because, <nil>",
  )
  await check(['delete configmaps/ old'], { update: owner() }, 'ok')
  await check([], { create: owner(blocking) }, unfinalized)
  await check(['update nodes/finalizers n'], { create: owner(blocking) }, 'ok')
  await check(['update */finalizers *'], { create: owner(blocking) }, 'ok')
  await check(['delete configmaps/ old'], { update: owner(blocking) }, unfinalized)
  await check(
    [],
    { create: owner({ ...blocking, apiVersion: 'example.com/v1', kind: 'Thing' }) },
    'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ' +
      'example.com/v1 Kind Thing: ' +
      'no matches for kind "Thing" in version "example.com/v1"',
  )
})
