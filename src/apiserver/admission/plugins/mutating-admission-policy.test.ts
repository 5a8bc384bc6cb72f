import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../metrics.ts'
import type { AdmittedObject, AdmissionPlugin } from '../admission-chain.ts'
import { mutatingAdmissionPolicy } from './mutating-admission-policy.ts'
import { bindingOf, policy, rule, startPolicies } from '../testdata/policy-server.ts'
import { container, namespace, outcome, pod, pods, startWith } from '../testdata/plugin-server.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const policies = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies'
const bindings = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings'

function configMap(name: string, data: object = {}, metadata: object = {}): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, ...metadata }, data }
}

const apply = (expression: string): object => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
})

const patch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } })

test('MutatingAdmissionPolicy: applies apply configurations and JSON patches', async t => {
  const { enforce, lift, request } = await startPolicies(t)
  /** Checks the mutated data of a config map created with `{a: 'b'}`. */
  const check = async (expected: object | RegExp, mutations: readonly object[], spec: object = {}) => {
    await enforce('mutating', 'p', { mutations, ...spec })
    const answer = await request('POST', `${configMaps}?dryRun=All`, configMap('m', { a: 'b' }))
    if (expected instanceof RegExp) assert.match(outcome(answer), expected)
    else assert.deepEqual(outcome(answer) === 'ok' ? answer.body['data'] : outcome(answer), expected)
    await lift('mutating', 'p')
  }
  const plain = { a: 'b' }
  await check({ a: 'b', c: 'd' }, [apply("Object{data: {'c': 'd'}}")])
  await check({ a: 'c' }, [apply("Object{data: {'a': 'c'}}")])
  await check(plain, [apply('Object{}')])
  await check({ a: 'bb' }, [apply("Object{data: {'a': object.data.a + object.data.a}}")])
  await check({ a: 'bb', c: 'bb' }, [
    apply("Object{data: {'a': object.data.a + object.data.a}}"),
    apply("Object{data: {'c': object.data.a}}"),
  ])
  await check({ a: 'b', c: 'm' }, [
    patch("[JSONPatch{op: 'add', path: '/data/c', value: object.metadata.name}]"),
  ])
  await check(/^422 ConfigMap "m" is invalid: data\[x\/~y\]/u, [
    patch("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('x/~y'), value: 'z'}]"),
  ])
  await check({ c: 'b' }, [patch("[JSONPatch{op: 'move', from: '/data/a', path: '/data/c'}]")])
  await check({ c: 'b' }, [
    patch("[JSONPatch{op: 'replace', path: '/data', value: Object.data{c: object.data.a}}]"),
  ])
  const guarded = (value: string): object =>
    patch(
      `[JSONPatch{op: 'test', path: '/data/a', value: '${value}'}, JSONPatch{op: 'remove', path: '/data/a'}]`,
    )
  await check(plain, [guarded('other')])
  await check(/^ok$/u, [guarded('b')])
  await check({ a: 'b', c: 'bx' }, [apply("Object{data: {'c': variables.v + 'x'}}")], {
    variables: [{ name: 'v', expression: 'object.data.a' }],
  })
  await check(plain, [apply("Object{data: {'c': 'd'}}")], {
    matchConditions: [{ name: 'c', expression: "object.data.a != 'b'" }],
  })
  const refused = "^403 policy 'p' with binding 'p' denied request: "
  await check(new RegExp(`${refused}expression '.*' resulted in error: no such key: x$`, 'u'), [
    apply("Object{data: {'c': object.data.x}}"),
  ])
  await check(plain, [apply("Object{data: {'c': object.data.x}}")], { failurePolicy: 'Ignore' })
  await check({ a: 'b', c: 'd' }, [apply('Object{data: object.x}'), apply("Object{data: {'c': 'd'}}")], {
    failurePolicy: 'Ignore',
  })
  await check(
    new RegExp(`${refused}error applying patch: .*\\.nothing: field not declared in schema$`, 'u'),
    [apply('Object{nothing: 1}')],
  )
  await check(
    new RegExp(
      `${refused}type mismatch: unexpected type name "Object\\.data", expected "Object\\.metadata"`,
      'u',
    ),
    [apply("Object{metadata: Object.data{name: 'x'}}")],
  )
  await check(new RegExp(`${refused}JSON Patch: cannot "remove" "/data/x"`, 'u'), [
    patch("[JSONPatch{op: 'remove', path: '/data/x'}]"),
  ])
  await check(/^500 .*strict decoding error: unknown field "nothing"$/u, [
    patch("[JSONPatch{op: 'add', path: '/nothing', value: 1}]"),
  ])
  await check(/^500 /u, [patch("[JSONPatch{op: 'replace', path: '/data', value: 1}]")])
  await check(/^500 /u, [patch("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]")])
  const large = "lists.range(1000).map(i, 'x')"
  await check(
    new RegExp(`${refused}(type mismatch: the value is larger|expression|composited)`, 'u'),
    [patch("[JSONPatch{op: 'replace', path: '/data', value: variables.d}]")],
    {
      variables: [
        { name: 'a', expression: large.replace('lists.range(1000)', `[${'0,'.repeat(999)}0]`) },
        { name: 'b', expression: 'variables.a.map(x, variables.a)' },
        { name: 'c', expression: 'variables.a.map(x, variables.b)' },
        { name: 'd', expression: 'variables.a.map(x, variables.c)' },
      ],
    },
  )
})

test('MutatingAdmissionPolicy: merges keyed lists by item and rejects partial changes of atomic fields', async t => {
  const { enforce, lift, request } = await startPolicies(t)
  const check = async (
    expression: string,
    expected: (spec: Record<string, unknown>) => unknown,
    wanted: unknown,
  ) => {
    const constraints = { matchConstraints: { resourceRules: [rule('pods')] } }
    await enforce('mutating', 'p', { ...constraints, mutations: [apply(expression)] })
    const body = pod('x', { containers: [container(), container({ name: 'b' })] })
    const answer = await request('POST', `${pods}?dryRun=All`, body)
    const spec = (answer.body as unknown as { spec?: Record<string, unknown> }).spec
    assert.deepEqual(spec ? expected(spec) : outcome(answer), wanted)
    await lift('mutating', 'p')
  }
  const containers = (spec: Record<string, unknown>): unknown =>
    (spec['containers'] as readonly { name: string; image: string; imagePullPolicy: string }[]).map(
      ({ name, image, imagePullPolicy }) => `${name} ${image} ${imagePullPolicy}`,
    )
  await check(
    'Object{spec: Object.spec{containers: object.spec.containers.map(c, ' +
      "Object.spec.containers{name: c.name, imagePullPolicy: 'Never'})}}",
    containers,
    ['a nginx Never', 'b nginx Never'],
  )
  await check(
    "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'i', image: 'x:1'}]}}",
    spec => (spec['initContainers'] as readonly { imagePullPolicy: string }[])[0]?.imagePullPolicy,
    'IfNotPresent',
  )
  await check(
    "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', image: 'i', args: ['x']}]}}",
    containers,
    "403 policy 'p' with binding 'p' denied request: error applying patch: invalid ApplyConfiguration: " +
      'may not mutate atomic arrays, maps or structs: .spec.containers[0].args',
  )
})

test('MutatingAdmissionPolicy: policies run in name order, each with its params', async t => {
  const { given, enforce, admitted } = await startPolicies(t)
  await given(configMaps, configMap('one', { text: '1' }, { labels: { set: 'a' } }))
  await given(configMaps, configMap('two', { text: '2' }, { labels: { set: 'a' } }))
  const append = (text: string): object =>
    apply(`Object{data: {'log': object.?data.log.orValue('') + ${text}}}`)
  const matchConstraints = { resourceRules: [rule('configmaps', { resourceNames: ['m'] })] }
  await enforce('mutating', 'b', { matchConstraints, mutations: [append("'b'")] })
  await enforce('mutating', 'a', { matchConstraints, mutations: [append("'a'"), append("'+'")] })
  await enforce(
    'mutating',
    'c',
    {
      matchConstraints,
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      mutations: [append('params.data.text')],
    },
    { paramRef: { selector: { matchLabels: { set: 'a' } }, parameterNotFoundAction: 'Deny' } },
  )
  const { data } = (await admitted(configMaps, configMap('m', {}))) as unknown as { data: object }
  assert.deepEqual(data, { log: 'a+b12' })
})

test('MutatingAdmissionPolicy: reinvocationPolicy IfNeeded runs a policy again after later changes', async t => {
  const check = async (reinvocationPolicy: string, expected: object): Promise<void> => {
    const later: AdmissionPlugin = {
      name: 'later',
      mutate(request, reinvocation): AdmittedObject {
        const object = request.object as unknown as { readonly data?: Record<string, string> }
        if (object.data === undefined || object.data['later']) return request.object
        reinvocation.request()
        return { ...request.object, data: { ...object.data, later: 'x' } } as AdmittedObject
      },
    }
    const { given, admitted } = await startWith(t, [mutatingAdmissionPolicy, () => later])
    const seen = "has(object.data) && 'later' in object.data ? 'yes' : 'no'"
    const mutations = [apply(`Object{data: {'seen': ${seen}}}`)]
    await given(policies, policy('mutating', 'p', { mutations, reinvocationPolicy }))
    await given(bindings, bindingOf('mutating', 'p'))
    const made = (await admitted(configMaps, configMap('m', { a: 'b' }))) as unknown as { data: object }
    assert.deepEqual(made.data, expected)
  }
  await check('Never', { a: 'b', later: 'x', seen: 'no' })
  await check('IfNeeded', { a: 'b', later: 'x', seen: 'yes' })
})

test('MutatingAdmissionPolicy: matches other versions, subresources and cluster-scoped objects', async t => {
  const { enforce, request, given, patch: change } = await startPolicies(t)
  const group = { apiGroups: ['autoscaling'], apiVersions: ['v1'] }
  await enforce('mutating', 'v', {
    matchConstraints: { resourceRules: [rule('horizontalpodautoscalers', group)] },
    mutations: [apply('Object{spec: Object.spec{targetCPUUtilizationPercentage: 42}}')],
  })
  const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
  const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' }
  const { text } = await request('POST', autoscalers, {
    metadata: { name: 'h' },
    spec: { maxReplicas: 3, scaleTargetRef },
  })
  assert.match(text, /"averageUtilization":42/u)
  await enforce('mutating', 'n', {
    matchConstraints: { resourceRules: [rule('namespaces')] },
    mutations: [
      apply("Object{metadata: Object.metadata{labels: {'made': string(namespaceObject == null)}}}"),
    ],
  })
  const made = await given('/api/v1/namespaces', namespace('x'))
  assert.equal((made.metadata['labels'] as unknown as { made: string }).made, 'true')
  await enforce('mutating', 's', {
    matchConstraints: { resourceRules: [rule('replicationcontrollers/scale')] },
    mutations: [apply('Object{spec: Object.spec{replicas: 7}}')],
  })
  const controllers = '/api/v1/namespaces/default/replicationcontrollers'
  const labels = { app: 'a' }
  const template = { metadata: { labels }, spec: { containers: [container()] } }
  await given(controllers, { metadata: { name: 'c' }, spec: { replicas: 1, selector: labels, template } })
  assert.equal(await change(`${controllers}/c/scale`, { spec: { replicas: 2 } }), 'ok')
  const { body } = await request('GET', `${controllers}/c`)
  assert.equal((body as unknown as { spec: { replicas: number } }).spec.replicas, 7)
})

test('MutatingAdmissionPolicy: records metrics, and a misconfigured policy rejects', async t => {
  const metrics = new Metrics()
  const { enforce, create } = await startPolicies(t, { metrics })
  await enforce('mutating', 'p', { mutations: [apply("Object{data: {'c': 'd'}}")] })
  assert.equal(await create(`${configMaps}?dryRun=All`, configMap('m')), 'ok')
  const labels = 'error_type="no_error",policy="p",policy_binding="p"'
  assert.ok(metrics.registry.render().includes(`mutating_admission_policy_check_total{${labels}} 1`))
  await enforce('mutating', 'q', {
    paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' },
    mutations: [apply('Object{}')],
  })
  assert.equal(
    await create(`${configMaps}?dryRun=All`, configMap('m')),
    '403 policy "q" denied request: failed to configure policy: ' +
      "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
  )
})
