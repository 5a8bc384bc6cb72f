import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError, type FieldError } from '#/api/field-error.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import {
  mutatingAdmissionPolicyHooks,
  validatingAdmissionPolicyHooks,
} from './admission-registration-hooks.ts'

const hooks = { validating: validatingAdmissionPolicyHooks, mutating: mutatingAdmissionPolicyHooks }

/** Validation errors of a policy's expressions, only the first line of each. */
function problemsOf(kind: 'mutating' | 'validating', spec: object, oldObject?: object): readonly string[] {
  const object = (each: object): KubernetesObject => ({ metadata: { name: 'p' }, spec: each }) as never
  const clock = { turn: () => Promise.resolve() }
  const errors = hooks[kind].validate?.(object(spec), oldObject && object(oldObject), { clock }) ?? []
  assert(Array.isArray(errors), 'these hooks validate without yielding')
  return (errors as readonly FieldError[]).map(error => formatFieldError(error).split('\n')[0] ?? '')
}

test('expressions of ValidatingAdmissionPolicy must compile to the required type', () => {
  const check = (spec: object, ...expected: readonly string[]): void => {
    assert.deepEqual(problemsOf('validating', spec), expected, JSON.stringify(spec))
  }
  const undeclared = (name: string): string =>
    `compilation failed: ERROR: <input>:1:1: undeclared reference to '${name}' (in container '')`
  const place = 'spec.validations[0].expression'
  const one = (expression: string, fields: object = {}): object => ({
    validations: [{ expression, ...fields }],
  })
  check(one('object.spec.replicas > 1'))
  check(one(''))
  check({})
  check(
    one('object.'),
    `${place}: Invalid value: "object.": compilation failed: ERROR: <input>:1:8: ` +
      "Syntax error: mismatched input '<EOF>' expecting IDENTIFIER",
  )
  check(one('nothing == 1'), `${place}: Invalid value: "nothing == 1": ${undeclared('nothing')}`)
  check(one('1'), `${place}: Invalid value: "1": must evaluate to bool but got int`)
  check(one('object'), `${place}: Invalid value: "object": must evaluate to bool but got dyn`)
  check(one('params == null'), `${place}: Invalid value: "params == null": ${undeclared('params')}`)
  check({ ...one('params == null'), paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } })
  check(one('variables.a == 1'), `${place}: Invalid value: "variables.a == 1": ${undeclared('variables')}`)
  const variables = [
    { name: 'a', expression: '1' },
    { name: 'b', expression: 'variables.a + 1' },
  ]
  check({ ...one('variables.b == 2'), variables })
  check(
    { ...one('variables.b == "2"'), variables },
    `${place}: Invalid value: "variables.b == \\"2\\"": compilation failed: ERROR: <input>:1:13: ` +
      "found no matching overload for '_==_' applied to '(int, string)'",
  )
  check(
    { ...one('true'), variables: variables.toReversed() },
    'spec.variables[0].expression: Invalid value: "variables.a + 1": compilation failed: ' +
      "ERROR: <input>:1:10: undefined field 'a'",
  )
  const condition = 'spec.matchConditions[0].expression'
  const conditions = (expression: string): object => ({ ...one('true'), matchConditions: [{ expression }] })
  check(conditions(' request.dryRun '))
  check(
    { ...conditions('variables.a == 1'), variables },
    `${condition}: Invalid value: "variables.a == 1": ${undeclared('variables')}`,
  )
  const message = 'spec.validations[0].messageExpression'
  check(
    one('true', { messageExpression: '1' }),
    `${message}: Invalid value: "1": must evaluate to string but got int`,
  )
  const asking = "authorizer.path('/x').check('get').reason()"
  check(one(`${asking} == ''`))
  check(
    one('true', { messageExpression: asking }),
    `${message}: Invalid value: "${asking}": ${undeclared('authorizer')}`,
  )
  check(
    {
      auditAnnotations: [
        { key: 'k', valueExpression: '1' },
        { key: 'l', valueExpression: 'null' },
      ],
    },
    'spec.auditAnnotations[0].valueExpression: Invalid value: "1": ' +
      'must evaluate to one of [string null_type] but got int',
  )
})

test('expressions of MutatingAdmissionPolicy must return an object or a patch', () => {
  const check = (field: 'applyConfiguration' | 'jsonPatch', expression: string, expected?: string): void => {
    const patchType = field === 'jsonPatch' ? 'JSONPatch' : 'ApplyConfiguration'
    const mutations = [{ patchType, [field]: { expression } }]
    const place = `spec.mutations[0].${field}.expression: Invalid value: ${JSON.stringify(expression.trim())}: `
    assert.deepEqual(problemsOf('mutating', { mutations }), expected ? [place + expected] : [], expression)
  }
  check('applyConfiguration', ' Object{spec: Object.spec{replicas: 3}} ')
  check('applyConfiguration', 'Object{spec: object.spec}')
  check('applyConfiguration', 'Object.spec{}', 'must evaluate to Object but got Object.spec')
  check('applyConfiguration', '{}', 'must evaluate to Object but got map(dyn, dyn)')
  check('jsonPatch', '[JSONPatch{op: "remove", path: "/x"}]')
  check('jsonPatch', 'has(object.x) ? [JSONPatch{op: "remove", path: "/x"}] : []')
  check('jsonPatch', 'JSONPatch{}', 'must evaluate to list(JSONPatch) but got JSONPatch')
  check(
    'jsonPatch',
    '[JSONPatch{what: 1}]',
    "compilation failed: ERROR: <input>:1:16: undefined field 'what'",
  )
  assert.deepEqual(problemsOf('mutating', { mutations: [{}] }), [])
  assert.deepEqual(problemsOf('mutating', {}), [])
})

test('unchanged policy expressions are not validated again', () => {
  const spec = { validations: [{ expression: 'nothing' }] }
  assert.equal(problemsOf('validating', spec).length, 1)
  assert.equal(problemsOf('validating', spec, spec).length, 0)
  assert.equal(problemsOf('validating', spec, {}).length, 1)
})
