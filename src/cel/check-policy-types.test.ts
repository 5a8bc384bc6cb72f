import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultResources } from '#/api/builtin.ts'
import type { Resource } from '#/api/resource.ts'
import { checkPolicyTypes } from './check-policy-types.ts'

const resources = defaultResources()

/** Expected warnings as `field: kind: message`. */
function check(spec: object, expected: readonly string[], served: readonly Resource[] = resources): void {
  const rules = [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments'] }]
  const policy = { metadata: {}, spec: { matchConstraints: { resourceRules: rules }, ...spec } }
  const warnings = checkPolicyTypes(policy, served)
  const lines = warnings.flatMap(({ fieldRef, warning }) =>
    [...warning.matchAll(/^(.+): ERROR: <input>:[0-9:]+ (.*)$/gmu)].map(
      ([, kind, text]) => `${fieldRef.replace('spec.validations', '')}: ${kind}: ${text}`,
    ),
  )
  assert.deepEqual(lines, expected, JSON.stringify(spec))
}

const one = (expression: string, fields: object = {}): object => ({
  validations: [{ expression, ...fields }],
})

test('policy expressions are type-checked against the kinds of the match rules', () => {
  const deployment = 'apps/v1, Kind=Deployment'
  check(one('object.spec.replicas > 1'), [])
  check(one("object.spec.replicas > '1'", { messageExpression: "'got ' + object.spec.replicas" }), [
    `[0].expression: ${deployment}: found no matching overload for '_>_' applied to '(int, string)'`,
    `[0].messageExpression: ${deployment}: found no matching overload for '_+_' applied to '(string, int)'`,
  ])
  check(one('oldObject.spec.nothing == 1'), [`[0].expression: ${deployment}: undefined field 'nothing'`])
  check(
    one("object.metadata.labels['a'] == 'b' && object.spec.template.spec.containers.all(c, c.name != '')"),
    [],
  )
  check(one("object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1')"), [])
  check(
    one("authorizer.requestResource.check('get').allowed() && request.name == namespaceObject.metadata.name"),
    [],
  )
  const variables = [
    { name: 'replicas', expression: 'object.spec.replicas' },
    { name: 'spec', expression: 'object.spec' },
    { name: 'bad', expression: 'object.nothing' },
  ]
  check({ variables, ...one('variables.spec.nothing == 1 && variables.bad == 1') }, [])
  check({ variables, ...one("variables.replicas == '1'") }, [
    `[0].expression: ${deployment}: found no matching overload for '_==_' applied to '(int, string)'`,
  ])
  check({ paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, ...one('params.data.a == 1') }, [
    `[0].expression: ${deployment}: found no matching overload for '_==_' applied to '(string, int)'`,
  ])
  check({ paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' }, ...one('params.anything == 1') }, [])
})

test('rules with wildcards, subresources or unknown resources are not type-checked', () => {
  const rules = (...given: readonly object[]): object => ({
    matchConstraints: {
      resourceRules: given.map(each => ({ apiGroups: ['apps'], apiVersions: ['v1'], ...each })),
    },
    ...one('object.spec.nothing == 1'),
  })
  const undefinedField = (kind: string): string => `[0].expression: ${kind}: undefined field 'nothing'`
  check(rules({ resources: ['*'] }), [])
  check(rules({ resources: ['deployments/scale'] }), [])
  check(rules({ resources: ['deployments'], apiGroups: ['*'] }), [])
  check(rules({ resources: ['unknown'] }), [])
  check({}, [])
  check({ matchConstraints: {} }, [])
  check(rules({ resources: ['statefulsets', 'deployments'] }, { resources: ['pods'], apiGroups: [''] }), [
    undefinedField('/v1, Kind=Pod'),
    undefinedField('apps/v1, Kind=Deployment'),
    undefinedField('apps/v1, Kind=StatefulSet'),
  ])
})

test('policies for custom resources are type-checked with the CRD schema', () => {
  const crontabs: Resource = {
    ...resources[0]!,
    group: 'stable.example.com',
    version: 'v1',
    kind: 'CronTab',
    plural: 'crontabs',
    schema: {
      type: 'struct',
      name: '',
      atomic: false,
      preserveUnknownFields: false,
      fields: new Map([
        [
          'spec',
          {
            required: false,
            schema: {
              type: 'struct',
              name: '',
              atomic: false,
              preserveUnknownFields: false,
              fields: new Map([['replicas', { required: false, schema: { type: 'integer' } }]]),
            },
          },
        ],
      ]),
    },
  }
  const rule = { apiGroups: ['stable.example.com'], apiVersions: ['v1'], resources: ['crontabs'] }
  const matchConstraints = { resourceRules: [rule] }
  check({ matchConstraints, ...one('object.spec.replicas > 1') }, [], [crontabs])
  check(
    { matchConstraints, ...one("object.spec.replicas > '1'") },
    [
      '[0].expression: stable.example.com/v1, Kind=CronTab: ' +
        "found no matching overload for '_>_' applied to '(int, string)'",
    ],
    [crontabs],
  )
})
