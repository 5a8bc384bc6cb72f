import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../metrics.ts'
import { bindingOf, policy, rule, startPolicies } from '../testdata/policy-server.ts'
import { namespace, outcome, warningsOf, type PluginServer } from '../testdata/plugin-server.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings'

function configMap(name: string, data: object = {}, metadata: object = {}): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, ...metadata }, data }
}

const denied = (text: string, reason = 'Invalid', code = 422): string =>
  `${code} ${reason} configmaps "m" is forbidden: ` +
  `ValidatingAdmissionPolicy 'p' with binding 'p' denied request: ${text}`

test("ValidatingAdmissionPolicy: a failed validation rejects with the policy's message and reason", async t => {
  const { enforce, lift, request } = await startPolicies(t)
  /** Checks the outcome of creating a config map with data `{a: 'b'}` under the policy. */
  const check = async (expected: string, spec: object, binding: object = {}): Promise<void> => {
    await enforce('validating', 'p', spec, binding)
    const { code, body } = await request('POST', `${configMaps}?dryRun=All`, configMap('m', { a: 'b' }))
    const text = code < 300 ? 'ok' : `${code} ${body.reason} ${body.message}`
    assert.equal(text, expected, JSON.stringify(spec))
    await lift('validating', 'p')
  }
  const expression = "object.data.a == 'c'"
  await check('ok', { validations: [{ expression: "object.data.a == 'b'" }] })
  await check(denied(`failed expression: ${expression}`), {
    validations: [{ expression: ` ${expression} ` }],
  })
  await check(denied('not so'), {
    validations: [{ expression: 'true' }, { expression, message: ' not so ' }],
  })
  await check(denied('first'), {
    validations: [
      { expression, message: 'first' },
      { expression, message: 'second' },
    ],
  })
  await check(denied('got b'), {
    validations: [{ expression, message: 'static', messageExpression: "'got ' + object.data.a" }],
  })
  for (const messageExpression of ["''", "' '", "'a\\nb'", 'string(object.data.nothing)']) {
    await check(denied('static'), { validations: [{ expression, message: 'static', messageExpression }] })
  }
  await check(denied('no', 'Forbidden', 403), {
    validations: [{ expression, message: 'no', reason: 'Forbidden' }],
  })
  await check(denied('no', 'RequestEntityTooLarge', 413), {
    validations: [{ expression, message: 'no', reason: 'RequestEntityTooLarge' }],
  })
  const failing = "object.data.nothing == 'x'"
  await check(denied(`expression '${failing}' resulted in error: no such key: nothing`), {
    validations: [{ expression: failing }],
  })
  await check('ok', { validations: [{ expression: failing }], failurePolicy: 'Ignore' })
  await check(denied('no'), { validations: [{ expression, message: 'no' }], failurePolicy: 'Ignore' })
})

test('ValidatingAdmissionPolicy: expressions see object, request, namespace, authorizer, variables', async t => {
  const { enforce, lift, request, given } = await startPolicies(t)
  await given('/api/v1/namespaces', namespace('team', { labels: { tier: 'gold' } }))
  const variables = [
    { name: 'a', expression: 'object.data.a' },
    { name: 'twice', expression: 'variables.a + variables.a' },
    { name: 'unused', expression: 'object.data.nothing' },
    { name: 'owners', expression: '[object.data.a, request.name]' },
  ]
  const check = async (expression: string, expected = 'ok'): Promise<void> => {
    await enforce('validating', 'p', { variables, validations: [{ expression }] })
    const body = configMap('m', { a: 'b' }, { namespace: 'team' })
    const answer = await request('POST', '/api/v1/namespaces/team/configmaps?dryRun=All', body)
    assert.equal(outcome(answer).replace(/^.* denied request: /u, ''), expected, expression)
    await lift('validating', 'p')
  }
  await check("object.metadata.name == 'm' && oldObject == null && object.kind == 'ConfigMap'")
  await check("request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.dryRun")
  await check("request.namespace == 'team' && request.userInfo.username == 'kubernetes-admin'")
  await check("namespaceObject.metadata.labels.tier == 'gold' && namespaceObject.metadata.name == 'team'")
  await check("namespaceObject.status.phase == 'Active' && namespaceObject.metadata.UID != ''")
  await check("namespaceObject.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')")
  await check("authorizer.group('').resource('pods').namespace('team').check('get').allowed()")
  await check("authorizer.requestResource.check('create').allowed()")
  await check("!authorizer.serviceAccount('team', 'x').group('').resource('pods').check('get').allowed()")
  await check("variables.twice == 'bb' && 'b' in variables.owners && variables.owners.all(o, o.size() > 0)")
  await check(
    "variables.unused == 'x'",
    "expression 'variables.unused == 'x'' resulted in error: " +
      'composited variable "unused" fails to evaluate: no such key: nothing',
  )
  await check("has(variables.a) && variables.unused == 'x' || true")
})

test('ValidatingAdmissionPolicy: rules, selectors, matchConditions and bindings select requests', async t => {
  const { enforce, lift, given, create, request } = await startPolicies(t)
  await given('/api/v1/namespaces', namespace('gold', { labels: { tier: 'gold' } }))
  /**
   * Checks which of the config maps `m` and `n`, with and without a label, in two namespaces, are rejected.
   */
  const check = async (expected: string, spec: object, binding: object = {}): Promise<void> => {
    await enforce('validating', 'p', { validations: [{ expression: 'false' }], ...spec }, binding)
    const refused: string[] = []
    for (const place of ['default', 'gold']) {
      for (const [name, labels] of [
        ['m', { app: 'web' }],
        ['n', {}],
      ] as const) {
        const url = `/api/v1/namespaces/${place}/configmaps?dryRun=All`
        if ((await create(url, configMap(name, {}, { labels }))) !== 'ok') refused.push(`${place}/${name}`)
      }
    }
    assert.equal(refused.join(' '), expected, JSON.stringify([spec, binding]))
    await lift('validating', 'p')
  }
  const resourceRules = [rule('configmaps')]
  const all = 'default/m default/n gold/m gold/n'
  await check(all, {})
  await check('', { matchConstraints: { resourceRules: [rule('secrets')] } })
  await check('', { matchConstraints: { resourceRules: [rule('configmaps', { operations: ['UPDATE'] })] } })
  await check('default/m gold/m', {
    matchConstraints: { resourceRules: [rule('configmaps', { resourceNames: ['m'] })] },
  })
  await check('default/n gold/n', {
    matchConstraints: { resourceRules, excludeResourceRules: [rule('*', { resourceNames: ['m'] })] },
  })
  const gold = { matchLabels: { tier: 'gold' } }
  const web = { matchLabels: { app: 'web' } }
  await check('gold/m gold/n', { matchConstraints: { resourceRules, namespaceSelector: gold } })
  await check('default/m gold/m', { matchConstraints: { resourceRules, objectSelector: web } })
  await check('gold/m gold/n', {}, { matchResources: { namespaceSelector: gold } })
  await check(
    'gold/m',
    { matchConstraints: { resourceRules, objectSelector: web } },
    {
      matchResources: { namespaceSelector: gold },
    },
  )
  await check('', {}, { matchResources: { resourceRules: [rule('secrets')] } })
  await check('default/n gold/n', {
    matchConditions: [{ name: 'c', expression: "object.metadata.name == 'n'" }],
  })
  await check('', {
    matchConditions: [
      { name: 'c', expression: 'object.nothing == 1' },
      { name: 'd', expression: 'false' },
    ],
  })
  await check(all, { matchConditions: [{ name: 'c', expression: 'object.nothing == 1' }] })
  await check('', {
    failurePolicy: 'Ignore',
    matchConditions: [{ name: 'c', expression: 'object.nothing == 1' }],
  })
  await check('', {}, { policyName: 'another' })
  await enforce('validating', 'p', {
    validations: [{ expression: "oldObject.metadata.name != 'kept'" }],
    matchConstraints: { resourceRules: [rule('configmaps', { operations: ['DELETE'] })] },
  })
  await given(configMaps, configMap('kept'))
  await given(configMaps, configMap('other'))
  assert.match(outcome(await request('DELETE', `${configMaps}/kept`)), /^422 configmaps "kept" is forbidden/u)
  assert.equal(outcome(await request('DELETE', `${configMaps}/other`)), 'ok')
})

test('ValidatingAdmissionPolicy: validationActions Warn and Audit do not reject', async t => {
  const { enforce, lift, request, annotations } = await startPolicies(t)
  const check = async (validationActions: readonly string[], spec: object = {}) => {
    const validations = [{ expression: 'true' }, { expression: 'false', message: 'no' }]
    await enforce('validating', 'p', { validations, ...spec }, { validationActions })
    const answer = await request('POST', `${configMaps}?dryRun=All`, configMap('m', { a: 'b' }))
    await lift('validating', 'p')
    return { outcome: outcome(answer), warnings: warningsOf(answer), annotations: annotations() }
  }
  const failure = (validationActions: readonly string[]) => ({
    'validation.policy.admission.k8s.io/validation_failure': JSON.stringify([
      { message: 'no', policy: 'p', binding: 'p', expressionIndex: 1, validationActions },
    ]),
  })
  assert.deepEqual(await check(['Warn', 'Audit']), {
    outcome: 'ok',
    warnings: ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': no"],
    annotations: failure(['Warn', 'Audit']),
  })
  const refused = await check(['Deny', 'Audit'])
  assert.match(refused.outcome, /^422 .* denied request: no$/u)
  assert.deepEqual(refused.annotations, failure(['Deny', 'Audit']))
  const auditAnnotations = [
    { key: 'who', valueExpression: "'by ' + request.userInfo.username" },
    { key: 'nothing', valueExpression: 'null' },
    { key: 'empty', valueExpression: "' '" },
    { key: 'long', valueExpression: "'€'.replace('€', object.data.a == 'b' ? '€' : '') + 'x'" },
  ]
  const told = await check(['Warn'], { auditAnnotations, validations: [] })
  assert.equal(told.outcome, 'ok')
  assert.deepEqual(told.annotations, { 'p/who': 'by kubernetes-admin', 'p/long': '€x' })
  const bad = { auditAnnotations: [{ key: 'k', valueExpression: "'' + object.data.x" }], validations: [] }
  assert.match((await check(['Audit'], bad)).outcome, /^422 .*resulted in error: no such key: x$/u)
  assert.equal((await check(['Audit'], { ...bad, failurePolicy: 'Ignore' })).outcome, 'ok')
})

test('ValidatingAdmissionPolicy: paramRef resolves params by name or selector', async t => {
  const { enforce, lift, given, create } = await startPolicies(t)
  await given('/api/v1/namespaces', namespace('limits'))
  const limit = (name: string, max: string, labels: object = {}): object =>
    configMap(name, { max }, { labels })
  await given(configMaps, limit('low', '1', { set: 'a' }))
  await given(configMaps, limit('high', '5', { set: 'a' }))
  await given('/api/v1/namespaces/limits/configmaps', { ...limit('low', '3'), immutable: true })
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConstraints: { resourceRules: [rule('secrets namespaces')] },
    validations: [
      {
        expression: 'params == null || !has(object.data) || object.data.size() <= int(params.data.max)',
        messageExpression: "params.kind + ' ' + params.metadata.name + ' allows ' + params.data.max",
      },
    ],
  }
  const check = async (
    expected: string,
    paramRef: object | undefined,
    change: object = {},
  ): Promise<void> => {
    await enforce('validating', 'p', { ...spec, ...change }, paramRef ? { paramRef } : {})
    const data = { a: '', b: '', c: '', d: '' }
    const secret = { kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' }, data }
    const found = await create('/api/v1/namespaces/default/secrets?dryRun=All', secret)
    assert.equal(found.replace(/^.* denied request: /u, ''), expected, JSON.stringify(paramRef))
    await lift('validating', 'p')
  }
  const deny = { parameterNotFoundAction: 'Deny' }
  const allow = { parameterNotFoundAction: 'Allow' }
  await check('ok', undefined)
  await check('ok', { name: 'high', ...deny })
  await check('ConfigMap low allows 1', { name: 'low', ...deny })
  await check('ConfigMap low allows 3', { name: 'low', namespace: 'limits', ...deny })
  await check('ConfigMap low allows 1', { selector: { matchLabels: { set: 'a' } }, ...deny })
  await check('ok', { selector: { matchLabels: { set: 'b' } }, ...allow })
  const none =
    'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'
  await check(none, { selector: { matchLabels: { set: 'b' } }, ...deny })
  await check(none, { name: 'absent', ...deny })
  await check('ok', { name: 'absent', ...allow })
  await check('ok', { name: 'absent', ...deny }, { failurePolicy: 'Ignore' })
  const unknown = { paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' } }
  await check(
    "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
    { name: 'x', ...deny },
    unknown,
  )
  await check('ok', { name: 'x', ...deny }, { ...unknown, failurePolicy: 'Ignore' })
  const cluster = {
    paramKind: { apiVersion: 'v1', kind: 'Namespace' },
    validations: [{ expression: "params.metadata.name == 'other'" }],
  }
  await check("failed expression: params.metadata.name == 'other'", { name: 'limits', ...deny }, cluster)
  await check(
    'failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
    { name: 'limits', namespace: 'x', ...deny },
    cluster,
  )
})

test('ValidatingAdmissionPolicy: the cost budget is enforced', async t => {
  const { enforce, lift, create } = await startPolicies(t)
  const check = async (expected: RegExp, spec: object): Promise<void> => {
    await enforce('validating', 'p', spec)
    assert.match(await create(`${configMaps}?dryRun=All`, configMap('m', { a: 'b' })), expected)
    await lift('validating', 'p')
  }
  const long = `[${Array.from({ length: 100 }, () => '1').join(',')}]`
  const dear = `${long}.all(a, ${long}.all(b, ${long}.all(c, a + b + c > 0)))`
  const half = `${long}.all(a, ${long}.all(b, [1, 1, 1, 1, 1, 1, 1, 1].all(c, a + b + c > 0)))`
  await check(/resulted in error: operation cancelled: actual cost limit exceeded$/u, {
    validations: [{ expression: dear }],
  })
  await check(/^ok$/u, { validations: [{ expression: half }] })
  await check(
    /validation failed due to running out of cost budget, no further validation rules will be run$/u,
    {
      validations: Array.from({ length: 20 }, () => ({ expression: half })),
    },
  )
  await check(/^ok$/u, {
    failurePolicy: 'Ignore',
    validations: Array.from({ length: 20 }, () => ({ expression: half })),
  })
  await check(/^ok$/u, {
    variables: [{ name: 'v', expression: half }],
    validations: Array.from({ length: 20 }, () => ({ expression: 'variables.v' })),
  })
  await check(
    /composited variable "v" fails to evaluate: operation cancelled: actual cost limit exceeded$/u,
    {
      variables: [{ name: 'v', expression: dear }],
      validations: [{ expression: 'variables.v' }],
    },
  )
})

test('ValidatingAdmissionPolicy: policies are exempt, and writing one requires access to its params', async t => {
  const { enforce, as, given, request } = await startPolicies(t)
  await grant(given, 'writers', 'admissionregistration.k8s.io', ['reader', 'nobody'])
  await grant(given, 'readers', '', ['reader'])
  const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }
  await enforce('validating', 'p', {
    matchConstraints: { resourceRules: [everything], namespaceSelector: {} },
    validations: [{ expression: "request.resource.resource == 'namespaces' || request.dryRun" }],
  })
  assert.match(outcome(await request('POST', configMaps, configMap('m'))), /^422/u)
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    validations: [{ expression: 'params != null' }],
  }
  const check = async (user: string, url: string, object: object, expected: RegExp): Promise<void> => {
    const answer = await as({ username: user, groups: ['system:authenticated'] })(
      'POST',
      `${url}?dryRun=All`,
      object,
    )
    assert.match(outcome(answer), expected)
  }
  await check('reader', policies, policy('validating', 'q', spec), /^ok$/u)
  await check(
    'nobody',
    policies,
    policy('validating', 'q', spec),
    /^422 .*spec\.paramKind: Forbidden: user "nobody" must have "get" permission .*kind=ConfigMap, apiVersion=v1\)$/u,
  )
  await check(
    'nobody',
    policies,
    policy('validating', 'q', { validations: [{ expression: 'true' }] }),
    /^ok$/u,
  )
  await given(policies, policy('validating', 'q', spec))
  const paramRef = { name: 'x', parameterNotFoundAction: 'Deny' }
  await check('reader', bindings, bindingOf('validating', 'q', { paramRef }), /^ok$/u)
  await check(
    'nobody',
    bindings,
    bindingOf('validating', 'q', { paramRef }),
    /spec\.paramRef: Forbidden: user "nobody" does not have "get" permission on the object referenced by paramRef$/u,
  )
  await check(
    'reader',
    bindings,
    bindingOf('validating', 'gone', { paramRef }),
    /Forbidden: unable to get policy gone to determine minimum required permissions and user "reader" does not/u,
  )
})

/** Grants these users all verbs on all resources of a group. */
async function grant(
  given: PluginServer['given'],
  name: string,
  group: string,
  users: readonly string[],
): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const rules = [{ apiGroups: [group], resources: ['*'], verbs: ['*'] }]
  await given(`${rbac}/clusterroles`, { metadata: { name }, rules })
  await given(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: users.map(user => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user })),
  })
}

test('ValidatingAdmissionPolicy: checks are recorded in metrics', async t => {
  const metrics = new Metrics()
  const { enforce, create } = await startPolicies(t, { metrics })
  await enforce('validating', 'p', {
    validations: [{ expression: 'false' }, { expression: 'object.x == 1' }],
  })
  await create(configMaps, configMap('m'))
  const rendered = metrics.registry.render()
  const labels = 'enforcement_action="deny",error_type="invalid_error",policy="p",policy_binding="p"'
  assert.ok(rendered.includes(`apiserver_validating_admission_policy_check_total{${labels}} 2`), rendered)
})
