import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileMatchConditions, validateMatchConditions } from './match-conditions.ts'
import { MatchConditionError } from './webhook-authorizer.ts'

const review = {
  user: 'zoe',
  groups: ['a'],
  resourceAttributes: {
    verb: 'list',
    resource: 'pods',
    labelSelector: { requirements: [{ key: 'k', operator: 'In', values: ['v'] }] },
  },
}

test('the authorization webhook is called only if all matchConditions hold', () => {
  const check = (
    expressions: readonly string[],
    expected: boolean | RegExp,
    about: object = review,
  ): void => {
    const matches = compileMatchConditions(expressions.map(expression => ({ expression })))
    if (typeof expected === 'boolean') assert.equal(matches(about), expected, expressions.join())
    else
      assert.throws(
        () => matches(about),
        (error: unknown) => error instanceof MatchConditionError && expected.test(error.message),
      )
  }
  check(['has(request.resourceAttributes)'], true)
  check(['has(request.nonResourceAttributes)'], false)
  check(['request.resourceAttributes.namespace == ""', 'request.user == "zoe"'], true)
  check(['"a" in request.groups && request.uid == ""'], true)
  check(['request.groups.size() == 0'], true, {
    user: 'x',
    nonResourceAttributes: { path: '/', verb: 'get' },
  })
  check(['request.resourceAttributes.labelSelector.requirements.exists(r, r.values[0] == "v")'], true)
  check(['has(request.resourceAttributes.fieldSelector)'], false)
  check(['request.extra["x"][0] == "y"'], /no such key: x/)
  check(['request.extra["x"][0] == "y"', 'false'], false)
  check(['request.extra["x"][0] == "y"', 'true'], /no such key: x/)
})

test('invalid matchConditions are rejected', () => {
  const check = (expressions: readonly string[], expected: string): void => {
    const errors = validateMatchConditions(
      'c',
      expressions.map(expression => ({ expression })),
    )
    assert.deepEqual(
      errors.map(({ field, detail }) => `${field}: ${detail}`),
      expected === '' ? [] : [expected],
    )
  }
  check(['true'], '')
  check([' '], 'c[0].expression: ')
  check(['true', 'true'], 'c[1].expression: ')
  check(['1'], 'c[0].expression: must evaluate to bool but got int')
  check(
    Array.from({ length: 65 }, (_, index) => `${index} == 0`),
    'c: must have at most 64 items',
  )
  const [undefinedField] = validateMatchConditions('c', [{ expression: 'request.nothing' }])
  assert.match(undefinedField!.detail, /^compilation failed: ERROR: .*undefined field 'nothing'/)
})
