import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admissionEnvironment } from './admission-environment.ts'
import { AuthorizationDecisions, AuthorizerValue } from './authorizer.ts'
import { compileExpression } from './compile-expression.ts'
import { ExpressionRun, CostBudgetExceeded } from './expression-run.ts'
import { fromJson } from './json.ts'
import { checkConstructed, objectConstructorLibrary } from './object-constructors.ts'
import { PolicyVariables } from './policy-variables.ts'
import { dynType } from './type.ts'
import { list, type Value } from './value.ts'

function start(definitions: Readonly<Record<string, string>>, costMax = 10_000_000) {
  const asked: string[] = []
  const decisions = new AuthorizationDecisions(async check => {
    asked.push(check.verb)
    return { decision: 'allow', reason: check.verb }
  })
  const variables = new PolicyVariables()
  const environment = admissionEnvironment({
    authorizer: true,
    variables: variables.type,
    libraries: [objectConstructorLibrary],
  })
  for (const [name, expression] of Object.entries(definitions))
    variables.define({ name, expression }, environment)
  const inputs = { object: fromJson({ a: 1 }, dynType), authorizer: new AuthorizerValue(decisions) }
  const run = new ExpressionRun({ inputs, costMax, variables })
  const evaluate = (expression: string) => run.evaluate(compileExpression(expression, environment))
  return { run, asked, evaluate }
}

test('policy variables are evaluated lazily and once', async () => {
  const { run, evaluate } = start({ a: 'object.a + 1', b: 'variables.a * 10', bad: 'object.b' })
  assert.deepEqual(await evaluate('variables.b'), { value: 20n })
  const left = run.costLeft
  assert.deepEqual(await evaluate('variables.b'), { value: 20n })
  assert.ok(left - run.costLeft < 10_000_000 - left, 'the second look is cheaper')
  const problem = 'composited variable "bad" fails to evaluate: no such key: b'
  assert.deepEqual(await evaluate('variables.bad'), {
    error: `expression 'variables.bad' resulted in error: ${problem}`,
  })
  assert.deepEqual(await evaluate('variables.bad == 1 || true'), { value: true })
})

test('policy variables may have any identifier as name', async () => {
  const { evaluate } = start({ ['__proto__']: '1', constructor: '2', toString: '3' })
  const sum = 'variables.__proto__ + variables.constructor + variables.toString'
  assert.deepEqual(await evaluate(sum), { value: 6n })
})

test('an asynchronous decision is requested once, and the expression is evaluated again', async () => {
  const { run, asked, evaluate } = start({
    may: "authorizer.path('/x').check('get').allowed()",
    why: "authorizer.path('/x').check('list').reason()",
  })
  assert.deepEqual(await evaluate("variables.may && variables.why == 'list' && variables.may"), {
    value: true,
  })
  assert.deepEqual(asked, ['get', 'list'])
  assert.ok(10_000_000 - run.costLeft < 800_000, 'an evaluation that was given up is not charged')
})

test('a run throws when its budget is exceeded', async () => {
  const { evaluate } = start({}, 20)
  assert.deepEqual(await evaluate('1 + 1'), { value: 2n })
  await assert.rejects(
    () => evaluate("'aaaaaaaaaa'.contains('b') || [1, 2, 3, 4, 5, 6].all(x, x > 0)"),
    CostBudgetExceeded,
  )
})

test('types and nesting of constructed objects', async () => {
  const { evaluate } = start({})
  const check = async (expression: string, ...expected: readonly string[]): Promise<void> => {
    const { value = null } = await evaluate(expression)
    assert.deepEqual(checkConstructed(value), expected, expression)
  }
  await check('Object{spec: Object.spec{a: [Object.spec.a{b: 1}], m: {"k": Object.spec.m{}}}}')
  await check('Object.spec{a: Object.spec.a{}}')
  await check('object')
  await check(
    'Object{spec: Object.status{}, list: [Object{}]}',
    'unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type',
    'unexpected type name "Object", expected "Object.list", which matches field name path from root Object type',
  )
  let huge: Value = list([1n, 2n])
  for (let level = 0; level < 60; level++) huge = list([huge, huge])
  assert.match(checkConstructed(huge).join(), /^the value is larger than/u)
  let deep: Value = null
  for (let level = 0; level < 100_000; level++) deep = list([deep])
  assert.match(checkConstructed(deep).join(), /deeper than 500 levels$/u)
})
