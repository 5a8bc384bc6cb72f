import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '#/api/field-error.ts'
import type { JSONSchemaProps } from '#/api/generated/apiextensions/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { evaluateObjectRules } from './evaluate-rules.ts'
import { ruleNodeOf } from './validation-rules.ts'

function ruled(schema: JSONSchemaProps, ...rules: (string | object)[]): JSONSchemaProps {
  const validations = rules.map(rule => (typeof rule === 'string' ? { rule } : rule))
  return { ...schema, 'x-kubernetes-validations': validations } as JSONSchemaProps
}

interface Case {
  /** The schema of the field `a`. */
  readonly schema: JSONSchemaProps
  readonly object: JsonObject
  readonly old?: JsonObject
}

function check({ schema, object, old }: Case, ...expected: string[]): void {
  const node = ruleNodeOf({ type: 'object', properties: { a: schema } }, true)
  assert(node)
  assert.deepEqual(evaluateObjectRules(node, object, old).map(formatFieldError), expected)
}

const integer: JSONSchemaProps = { type: 'integer' }

test('a violated rule shows the value of a scalar only', () => {
  check(
    { schema: ruled(integer, 'self == 1'), object: { a: 2 } },
    'a: Invalid value: 2: failed rule: self == 1',
  )
  const struct = { type: 'object', properties: { b: integer } }
  check(
    { schema: ruled(struct, 'self.b == 1'), object: { a: { b: 2 } } },
    'a: Invalid value: failed rule: self.b == 1',
  )
})

test('the reason and field path of a rule determine the error', () => {
  const rule = (reason: string) => ({ rule: 'self.b == 1', message: 'not 1', reason, fieldPath: '.b' })
  const struct = { type: 'object', properties: { b: integer } }
  const schema = ruled(
    struct,
    ...['FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate', 'FieldValueInvalid'].map(rule),
  )
  check(
    { schema, object: { a: { b: 2 } } },
    'a.b: Forbidden: not 1',
    'a.b: Required value: not 1',
    'a.b: Duplicate value',
    'a.b: Invalid value: not 1',
  )
  const text = ruled({ type: 'string' }, { rule: 'self == "x"', reason: 'FieldValueDuplicate', message: 'm' })
  check({ schema: text, object: { a: 'y' } }, 'a: Duplicate value: "y"')
})

test('a message expression without a usable result is replaced by the message or the rule', () => {
  const withMessage = (messageExpression: string) => ({ rule: 'self == 1', messageExpression })
  const schema = ruled(
    integer,
    withMessage('"is " + string(self)'),
    withMessage('" "'),
    withMessage('"a\\nb"'),
    withMessage('string(1 / (self - 2))'),
    { ...withMessage('" "'), message: 'must be one' },
  )
  const fallback = 'a: Invalid value: 2: failed rule: self == 1'
  check(
    { schema, object: { a: 2 } },
    'a: Invalid value: 2: is 2',
    fallback,
    fallback,
    fallback,
    'a: Invalid value: 2: must be one',
  )
})

test('a rule that fails names the error and the rule', () => {
  check(
    { schema: ruled(integer, '1 / self == 1', '[1][self] == 1'), object: { a: 0 } },
    'a: Invalid value: "integer": division by zero evaluating rule: 1 / self == 1',
  )
  check(
    { schema: ruled({ 'x-kubernetes-int-or-string': true }, 'self + 1 == 2'), object: { a: 'x' } },
    `a: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or ` +
      'macro signature for rule: self + 1 == 2',
  )
  const list = { type: 'array', items: integer }
  const numbers = Array.from({ length: 200 }, (_, index) => index)
  check(
    {
      schema: ruled(list, 'self.all(x, self.all(y, self.all(z, x + y + z >= 0)))', 'false'),
      object: { a: numbers },
    },
    `a: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will ` +
      'be run due to call cost exceeds limit for rule: self.all(x, self.all(y, self.all(z, x + y + z >= 0)))',
  )
})

test('violations by values that an update does not change are ignored', () => {
  const item = { type: 'object', properties: { b: ruled(integer, 'self == 1') } }
  const atomic = { type: 'array', items: item }
  const old = { a: [{ b: 2 }, { b: 3 }] }
  check({ schema: atomic, object: { ...old, c: 1 }, old })
  const broken = 'Invalid value: 2: failed rule: self == 1'
  check({ schema: atomic, object: { a: [{ b: 2 }] }, old }, `a[0].b: ${broken}`)
  const keyed = { ...atomic, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['b'] }
  check({ schema: keyed, object: { a: [{ b: 2 }] }, old })
  check(
    { schema: ruled(integer, 'self == oldSelf + 1'), object: { a: 2 }, old: { a: 2 } },
    'a: Invalid value: 2: failed rule: self == oldSelf + 1',
  )
})
