import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { admissionregistrationRules } from './group.ts'
import { warningsForReservedName } from './reserved-name.ts'

const rule = { operations: ['CREATE'], apiGroups: ['*'], apiVersions: ['v1'], resources: ['pods'] }
const service = { namespace: 'a', name: 'b' }
const webhook = {
  name: 'a.example.com',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { service },
  rules: [rule],
}
const matching = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} }

const webhooks = [
  admissionregistrationRules['ValidatingWebhookConfiguration'],
  admissionregistrationRules['MutatingWebhookConfiguration'],
].map(underTest)

function checkWebhook(change: object, ...errors: readonly string[]): void {
  for (const { check } of webhooks) check({ webhooks: [{ ...webhook, ...change }] }, ...errors)
}

test('defaults of admission webhooks', () => {
  const filled = {
    ...webhook,
    ...matching,
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    clientConfig: { service: { ...service, port: 443 } },
    rules: [{ ...rule, scope: '*' }],
  }
  const [validating, mutating] = webhooks
  assert.deepEqual(validating?.withDefaults({ webhooks: [webhook] }), { webhooks: [filled] })
  assert.deepEqual(mutating?.withDefaults({ webhooks: [webhook] }), {
    webhooks: [{ ...filled, reinvocationPolicy: 'Never' }],
  })
})

test('validation of webhook name, side effects and review versions', () => {
  checkWebhook({})
  checkWebhook(
    { name: 'example.com' },
    'webhooks[0].name: Invalid value: "example.com": should be a domain with at l',
  )
  for (const { check } of webhooks) {
    check({ webhooks: [webhook, webhook] }, 'webhooks[1].name: Duplicate value: "a.example.com"')
    check(
      { webhooks: [{}] },
      'webhooks[0].name: Required value',
      'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun',
      'webhooks[0].clientConfig: Required value: exactly one of url or service is required',
      'webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1',
    )
  }
  checkWebhook(
    { sideEffects: 'Some' },
    'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
  )
  checkWebhook(
    { admissionReviewVersions: ['v3', 'v3', '1'] },
    'webhooks[0].admissionReviewVersions[1]: Invalid value: "v3": duplicate version',
    'webhooks[0].admissionReviewVersions[2]: Invalid value: "1": a DNS-1035 label must consist of',
    'webhooks[0].admissionReviewVersions: Invalid value: ["v3","v3","1"]: must include at least one of v1, v1beta1',
  )
  checkWebhook(
    { timeoutSeconds: 31, failurePolicy: 'x', matchPolicy: 'y' },
    'webhooks[0].failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"',
    'webhooks[0].matchPolicy: Unsupported value: "y": supported values: "Equivalent", "Exact"',
    'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
  )
  checkWebhook(
    { objectSelector: { matchLabels: { a: '-' } }, reinvocationPolicy: 'x' },
    'webhooks[0].objectSelector.matchLabels: Invalid value: "-"',
    'webhooks[0].reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"',
  )
})

test('validation of webhook URLs', () => {
  const field = 'webhooks[0].clientConfig.url'
  const form = '; desired format: https://host[/path]'
  const url = (text: string, ...errors: readonly string[]) =>
    checkWebhook({ clientConfig: { url: text } }, ...errors)
  url('https://example.com:8443/path')
  url(
    '',
    `${field}: Invalid value: "": 'https' is the only allowed URL scheme${form}`,
    `${field}: Invalid value: "": host must be specified${form}`,
  )
  url('http://example.com', `${field}: Invalid value: "http": 'https' is the only allowed URL scheme`)
  url('https:///path', `${field}: Invalid value: "": host must be specified`)
  url(
    'https://u:p@example.com/?q=1#f',
    `${field}: Invalid value: "u:p": user information is not permitted in the URL`,
    `${field}: Invalid value: "f": fragments are not permitted in the URL`,
    `${field}: Invalid value: "q=1": query parameters are not permitted in the URL`,
  )
  url(
    'https://a\nb',
    `${field}: Required value: url must be a valid URL: net/url: invalid control character in URL`,
  )
  url(`https://a/${'#?'.repeat(100_000)}`, `${field}: Invalid value: "`)
  checkWebhook(
    { clientConfig: { service, url: 'https://a' } },
    'webhooks[0].clientConfig: Required value: exactly one of url or service is required',
  )
})

test('validation of webhook service references', () => {
  const field = 'webhooks[0].clientConfig.service'
  checkWebhook(
    { clientConfig: { service: { port: -1 } } },
    `${field}.name: Required value`,
    `${field}.namespace: Required value`,
    `${field}.port: Invalid value: -1: port is not valid: must be between 1`,
  )
  const path = (text: string, ...errors: readonly string[]) => {
    checkWebhook({ clientConfig: { service: { ...service, path: text } } }, ...errors)
  }
  path('/')
  path('/a/b.c/')
  path('//', `${field}.path: Invalid value: "//": segment[0] may not be empty`)
  path('/a//b', `${field}.path: Invalid value: "/a//b": segment[1] may not be empty`)
  path('/A', `${field}.path: Invalid value: "/A": segment[0]: a lowercase RFC 1123 subdomain must consist of`)
  path('xa', `${field}.path: Invalid value: "xa": must start with a '/'`)
})

test('validation of webhook rules', () => {
  const field = 'webhooks[0].rules[0]'
  const about = (change: object, ...errors: readonly string[]) => checkWebhook({ rules: [change] }, ...errors)
  about(
    {},
    `${field}.operations: Required value`,
    `${field}.apiGroups: Required value`,
    `${field}.apiVersions: Required value`,
    `${field}.resources: Required value`,
  )
  about(
    { ...rule, operations: ['*', 'CREATE'], apiGroups: ['*', 'a'], apiVersions: ['*', ''] },
    `${field}.operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
    `${field}.apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups`,
    `${field}.apiVersions: Invalid value: ["*",""]: if '*' is present, must not specify other API versions`,
    `${field}.apiVersions[1]: Required value`,
  )
  about(
    { ...rule, operations: ['PATCH'], scope: 'x' },
    `${field}.operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPD`,
    `${field}.scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"`,
  )
  about(
    { ...rule, resources: ['pods/*', 'pods/log', '*/scale', 'a/scale', ''] },
    `${field}.resources[4]: Required`,
    `${field}.resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
    `${field}.resources[3]: Invalid value: "a/scale": if '*/scale' is present, must not specify a/scale`,
  )
  about(
    { ...rule, resources: ['*', 'pods'] },
    `${field}.resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without`,
  )
  about(
    { ...rule, resources: ['a', '*/*'] },
    `${field}.resources: Invalid value: ["a","*/*"]: if '*/*' is present, must not specify other resources`,
  )
})

test('validation of match conditions', () => {
  const field = 'webhooks[0].matchConditions'
  const condition = { name: 'a', expression: 'true' }
  checkWebhook(
    { matchConditions: [condition, condition, {}] },
    `${field}[1].name: Duplicate value: "a"`,
    `${field}[2].expression: Required value`,
    `${field}[2].name: Required value`,
  )
  const many = Array.from({ length: 65 }, (_, index) => ({ ...condition, name: `a${index}` }))
  checkWebhook({ matchConditions: many }, `${field}: Too many: 65: must have at most 64 items`)
})

const validating = underTest(admissionregistrationRules['ValidatingAdmissionPolicy'])
const mutating = underTest(admissionregistrationRules['MutatingAdmissionPolicy'])
const matchConstraints = { resourceRules: [rule] }

function policy(change: object): object {
  const spec = { matchConstraints, validations: [{ expression: 'true' }], ...change }
  return { metadata: { name: 'a' }, spec }
}

test('defaults of admission policies', () => {
  const filled = { ...matching, resourceRules: [{ ...rule, scope: '*' }] }
  assert.deepEqual(
    validating.withDefaults(policy({})),
    policy({ failurePolicy: 'Fail', matchConstraints: filled }),
  )
})

test('validation of admission policy match constraints', () => {
  const { check } = validating
  check(policy({}))
  check(
    { metadata: { name: 'a' } },
    'spec.matchConstraints: Required value',
    'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
    'spec.auditAnnotations: Required value',
  )
  check(policy({ matchConstraints: {} }), 'spec.matchConstraints.resourceRules: Required value')
  check(
    policy({ matchConstraints: { resourceRules: [{ ...rule, resourceNames: ['a', 'a', 'b/c'] }] } }),
    'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
    'spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: "b/c"',
  )
  check(
    policy({ failurePolicy: '', paramKind: {} }),
    'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"',
    'spec.paramKind.apiVersion: Required value',
    'spec.paramKind.kind: Required value',
  )
  check(
    policy({ paramKind: { apiVersion: 'A/1', kind: 'a.b' } }),
    'spec.paramKind.apiVersion: Invalid value: "A"',
    'spec.paramKind.apiVersion: Invalid value: "1"',
    'spec.paramKind.kind: Invalid value: "a.b": may have mixed case, but should otherwise match: ',
  )
  check(
    policy({ variables: [{ name: 'in', expression: '1' }, {}] }),
    'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
    'spec.variables[1].name: Required value: name is not specified',
    'spec.variables[1].expression: Required value: expression is not specified',
  )
})

test('validation of policy validations', () => {
  const { check } = validating
  const field = 'spec.validations[0]'
  const one = (validation: object, ...errors: readonly string[]) => {
    check(policy({ validations: [validation] }), ...errors)
  }
  one({}, `${field}.expression: Required value: expression is not specified`)
  one(
    { expression: '1', message: ' ', messageExpression: ' ', reason: 'x' },
    `${field}.messageExpression: Invalid value: " ": must be non-empty if specified`,
    `${field}.message: Invalid value: " ": must be non-empty if specified`,
    `${field}.reason: Unsupported value: "x": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"`,
  )
  one(
    { expression: '1', message: 'a\nb' },
    `${field}.message: Invalid value: "a\\nb": must not contain line breaks`,
  )
  const valueExpression = '1'
  check(
    policy({
      auditAnnotations: [{ key: 'k', valueExpression }, { key: 'k' }, { key: '-', valueExpression }],
    }),
    'spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified',
    'spec.auditAnnotations[1].key: Duplicate value: "k"',
    'spec.auditAnnotations[2].key: Invalid value: "a/-"',
  )
})

test('validation of type checking warnings in the policy status', () => {
  validating.checkStatus(
    { status: { typeChecking: { expressionWarnings: [{}] } } },
    {},
    'status.typeChecking.expressionWarnings[0].warning: Required value',
    'status.typeChecking.expressionWarnings[0].fieldRef: Required value',
  )
})

test('validation of MutatingAdmissionPolicy mutations', () => {
  const { check } = mutating
  const applyConfiguration = { expression: 'Object{}' }
  const patching = (change: object) =>
    policy({
      validations: undefined,
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration }],
      ...change,
    })
  check(patching({}))
  check(
    patching({ mutations: [], reinvocationPolicy: undefined }),
    'spec.mutations: Required value: mutations must contain at least one item',
    'spec.reinvocationPolicy: Required',
  )
  check(
    patching({ matchConstraints: { resourceRules: [{ ...rule, operations: ['DELETE'] }] } }),
    'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT"',
  )
  check(
    patching({ mutations: [{}, { patchType: 'x' }, { patchType: 'JSONPatch', applyConfiguration }] }),
    'spec.mutations[0].patchType: Required value',
    'spec.mutations[1].patchType: Unsupported value: "x": supported values: "ApplyConfiguration", "JSONPatch"',
    'spec.mutations[2].jsonPatch: Required value: must be specified when patchType is JSONPatch',
    'spec.mutations[2].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patch',
  )
  check(
    patching({ mutations: [{ patchType: 'JSONPatch', jsonPatch: {} }] }),
    'spec.mutations[0].jsonPatch.expression: Required value',
  )
})

test('validation of policy bindings', () => {
  const { check, withDefaults } = underTest(admissionregistrationRules['ValidatingAdmissionPolicyBinding'])
  const binding = (change: object) => ({ spec: { policyName: 'a', validationActions: ['Deny'], ...change } })
  assert.deepEqual(withDefaults(binding({ matchResources: {} })), binding({ matchResources: matching }))
  check(binding({}))
  check(
    {},
    'spec.policyName: Required value',
    'spec.validationActions: Required value: at least one validation action is required',
  )
  check(
    binding({ validationActions: ['Deny', 'Warn', 'Warn', 'x'] }),
    'spec.validationActions[2]: Duplicate value: "Warn"',
    'spec.validationActions[3]: Unsupported value: "x": supported values: "Audit", "Deny", "Warn"',
    'spec.validationActions: Invalid value: ["Deny","Warn","Warn","x"]: must not contain both Deny and Warn',
  )
  check(
    binding({ paramRef: {} }),
    'spec.paramRef: Required value: one of name or selector must be specified',
    'spec.paramRef.parameterNotFoundAction: Required value',
  )
  check(
    binding({ paramRef: { name: 'a/b', selector: {}, parameterNotFoundAction: 'x' } }),
    'spec.paramRef.name: Invalid value: "a/b"',
    'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
    'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
    'spec.paramRef.parameterNotFoundAction: Unsupported value: "x": supported values: "Deny", "Allow"',
  )
})

test('a MutatingAdmissionPolicyBinding must not match DELETE', () => {
  const { check } = underTest(admissionregistrationRules['MutatingAdmissionPolicyBinding'])
  check({ spec: { policyName: 'a' } })
  check(
    { spec: { policyName: 'a', matchResources: { resourceRules: [{ ...rule, operations: ['DELETE'] }] } } },
    'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE"',
  )
})

test('names with the reserved suffix for static manifests return warnings', () => {
  assert.deepEqual(warningsForReservedName({ metadata: { name: 'a' } }), [])
  assert.match(
    warningsForReservedName({ metadata: { name: 'a.static.k8s.io' } }).join(),
    /reserved for static manifest/,
  )
})
