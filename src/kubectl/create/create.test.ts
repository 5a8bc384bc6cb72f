import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEnvFile, parseLiteral } from './data-sources.ts'
import { generatedObject, withGeneratedConfiguration } from './generated-object.ts'
import { planIngressSpec } from './ingress-spec.ts'
import { configMapHash, secretHash } from './name-hash.ts'
import { parseLabelSelector } from './parse-label-selector.ts'
import { parseLabels } from './parse-labels.ts'
import { parseResourceList } from './resource-list.ts'
import { givenRules, planRules } from './role-rules.ts'
import { planBinding } from './role-subjects.ts'
import { planSecret } from './secret-data.ts'
import { planService } from './service-content.ts'

/** The result as JSON, or the message of the error. */
function resultOf(action: () => unknown): string {
  try {
    return JSON.stringify(action()) ?? 'nothing'
  } catch (error) {
    return (error as Error).message
  }
}

interface Case {
  readonly input: string
  readonly expected: string
}

function check(name: string, parse: (input: string) => unknown, cases: readonly Case[]): void {
  for (const { input, expected } of cases) {
    test(`${name} ${JSON.stringify(input)} gives ${expected}`, () => {
      assert.equal(
        resultOf(() => parse(input)),
        expected,
      )
    })
  }
}

check('labels', parseLabels, [
  { input: 'b=2,a=', expected: '{"a":"","b":"2"}' },
  { input: 'a', expected: 'unexpected label spec: a' },
  { input: 'a=b=c', expected: 'unexpected label spec: a=b=c' },
  { input: '=b', expected: 'unexpected empty label key' },
])

check('a list of resources', parseResourceList, [
  { input: '', expected: 'nothing' },
  { input: 'pods=3,cpu=1000m', expected: '{"cpu":"1","pods":"3"}' },
  { input: 'cpu', expected: 'Invalid argument syntax cpu, expected <resource>=<value>' },
  { input: 'cpu=1=2', expected: 'Invalid argument syntax cpu=1=2, expected <resource>=<value>' },
])

check('a label selector', parseLabelSelector, [
  { input: 'b=2,a==1', expected: '{"matchLabels":{"a":"1","b":"2"}}' },
  {
    input: 'a in (y,x),!b,c',
    expected:
      '{"matchExpressions":[{"key":"a","operator":"In","values":["x","y"]},' +
      '{"key":"b","operator":"DoesNotExist"},{"key":"c","operator":"Exists"}]}',
  },
  { input: 'a>1', expected: '"gt" isn\'t supported in label selectors' },
  { input: 'a!=1', expected: '"!=" is not a valid label selector operator' },
])

check(
  'the ports of a service',
  text => planService({ name: 'a' }, { type: 'ClusterIP', ports: [text] }).content.spec,
  [
    {
      input: '80',
      expected:
        '{"ports":[{"name":"80","protocol":"TCP","port":80,"targetPort":80}],' +
        '"selector":{"app":"a"},"type":"ClusterIP"}',
    },
    {
      input: '80:http',
      expected:
        '{"ports":[{"name":"80-http","protocol":"TCP","port":80,"targetPort":"http"}],' +
        '"selector":{"app":"a"},"type":"ClusterIP"}',
    },
    { input: 'x', expected: 'strconv.ParseUint: parsing "x": invalid syntax' },
    { input: '65536', expected: 'strconv.ParseUint: parsing "65536": value out of range' },
    { input: '80:0', expected: 'must be between 1 and 65535, inclusive' },
  ],
)

check(
  'an ingress rule',
  rule => planIngressSpec({ className: '', defaultBackend: '', rules: rule.split(' ') }),
  [
    {
      input: 'a.b/c*=web:80',
      expected:
        '{"rules":[{"host":"a.b","http":{"paths":[' +
        '{"path":"/c","pathType":"Prefix","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}',
    },
    {
      input: '/=web:http,tls /x=web:http,tls=s',
      expected:
        '{"rules":[{"http":{"paths":[{"path":"/","pathType":"Exact",' +
        '"backend":{"service":{"name":"web","port":{"name":"http"}}}},' +
        '{"path":"/x","pathType":"Exact","backend":{"service":{"name":"web","port":{"name":"http"}}}}]}}]}',
    },
    {
      input: 'web:80',
      expected: 'rule web:80 is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]',
    },
  ],
)

check(
  'a service account',
  serviceaccount => planBinding({ serviceaccount: [serviceaccount] }, { kind: 'Role', name: 'r' }).subjects,
  [
    { input: 'ns:sa', expected: '[{"kind":"ServiceAccount","name":"sa","namespace":"ns"}]' },
    { input: 'sa', expected: 'serviceaccount must be <namespace>:<name>' },
    { input: 'a:b:c', expected: 'serviceaccount must be <namespace>:<name>' },
  ],
)

const envFile = { path: 'env', environment: { HOME: '/root' } }

check(
  'an environment file',
  text =>
    parseEnvFile(Buffer.from(text), envFile).map(
      ({ key, value }) => `${key}=${Buffer.from(value).toString()}`,
    ),
  [
    { input: '\uFEFFA=1\r\n# no\n\n  B=x=y\nC', expected: '["A=1","B=x=y","C="]' },
    { input: 'HOME', expected: '["HOME=/root"]' },
    { input: 'A=1\n\uFEFFB=2', expected: '["A=1","B=2"]' },
  ],
)

check('a literal', text => String(parseLiteral(text).value), [
  { input: 'a=b=c', expected: '"b=c"' },
  { input: 'a', expected: 'invalid literal source a, expected key=value' },
  { input: '=a', expected: 'invalid literal source =a, expected key=value' },
])

test('the rules of a role are by group, without duplicates', () => {
  const given = givenRules({ verb: ['get', 'get'], resource: ['pods', 'pods/log', 'deployments.apps'] })
  const { verbs } = given
  assert.deepEqual(planRules(given, [...given.resources, ...given.resources]), [
    { verbs, apiGroups: [''], resources: ['pods', 'pods/log'] },
    { verbs, apiGroups: ['apps'], resources: ['deployments'] },
  ])
  assert.deepEqual(givenRules({ verb: ['get', '*'], resource: ['pods', '*'] }), {
    verbs: ['*'],
    resources: [{ resource: '*', group: '', subresource: '' }],
    resourceNames: [],
  })
})

test('the hash of a config map and a secret is that of kubectl', () => {
  assert.equal(configMapHash('c', { data: { a: 'b' }, binaryData: {} }), 'm4h6ctkgb2')
  assert.equal(configMapHash('c', { data: {}, binaryData: {} }), '94b26g54cg')
  assert.equal(configMapHash('c', { data: { html: '<a>' }, binaryData: { bytes: 'Yf9i' } }), 'c2khfkdhb4')
  assert.equal(secretHash('s', { data: { a: 'Yg==' }, type: 'example.com/x' }), 'gc7h5k76fd')
})

test('a secret refuses duplicate and invalid keys', () => {
  const value = Buffer.from('x')
  const plan =
    (...keys: readonly string[]) =>
    () =>
      planSecret({ name: 's' }, { entries: keys.map(key => ({ key, value })), type: '', appendHash: false })
  assert.throws(plan('a', 'a'), { message: 'cannot add key a, another key by that name already exists' })
  assert.throws(plan('a b'), /^Error: "a b" is not valid key name for a Secret a valid config key/)
})

test('the saved configuration is the object without the annotation, in its order', () => {
  const resource = {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    scope: 'Namespaced',
  } as const
  const object = generatedObject(resource, { metadata: { labels: { x: '<' }, name: 'a' }, spec: {} })
  const text =
    '{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","labels":{"x":"\\u003c"}},"spec":{}}\n'
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': text }
  const saved = withGeneratedConfiguration(object)
  assert.deepEqual(saved['metadata'], { name: 'a', labels: { x: '<' }, annotations })
  assert.deepEqual(withGeneratedConfiguration(saved), saved)
})
