import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AuthorizationDecisions,
  AuthorizerValue,
  authorizerType,
  ResourceCheck,
  resourceCheckType,
  withDecisions,
  type AuthorizationDecision,
  type AuthorizationCheck,
  type Authorize,
} from './authorizer.ts'
import { compile } from './cel.ts'
import { Budget, expressionCostMax } from './cost.ts'
import { Environment } from './environment.ts'
import { kubernetesLibraries } from './library.ts'
import type { Value } from './value.ts'

const environment = new Environment({
  variables: { 'authorizer': authorizerType, 'authorizer.requestResource': resourceCheckType },
  libraries: kubernetesLibraries,
})

function run(expression: string, authorize: Authorize): Value | Promise<Value> {
  const authorizer = new AuthorizerValue(new AuthorizationDecisions(authorize))
  const variables = {
    authorizer,
    'authorizer.requestResource': new ResourceCheck(authorizer, {
      group: '',
      resource: 'pods',
      namespace: 'a',
      name: 'b',
    }),
  }
  const program = compile(expression, environment)
  return withDecisions(() => program.evaluate(variables, new Budget(expressionCostMax)))
}

/** Records the check in short form; allows only get. */
function decide(check: AuthorizationCheck, asked: string[]): AuthorizationDecision {
  const { serviceAccount } = check
  const who = serviceAccount ? `${serviceAccount.namespace}:${serviceAccount.name} ` : ''
  asked.push(who + (check.isResource ? resourceText(check) : `${check.verb} ${check.path}`))
  if (check.verb === 'get') return { decision: 'allow', reason: 'reading is free' }
  return check.verb === 'fail'
    ? { decision: 'no opinion', reason: '', error: 'it broke' }
    : { decision: 'deny', reason: 'no' }
}

function resourceText(check: AuthorizationCheck & { isResource: true }): string {
  const { verb, group, version, resource, subresource, namespace, name, fieldSelector, labelSelector } = check
  const place = [group, version, resource, subresource, namespace, name].join('/')
  return [verb, place, fieldSelector?.rawSelector, labelSelector?.rawSelector].filter(Boolean).join(' ')
}

test('an authorization check has the attributes of its expression', () => {
  const check = (expression: string, expectedValue: Value, ...expected: string[]): void => {
    const asked: string[] = []
    assert.equal(
      run(expression, check => decide(check, asked)),
      expectedValue,
      expression,
    )
    assert.deepEqual(asked, expected)
  }
  check(`authorizer.path('/healthz').check('get').allowed()`, true, 'get /healthz')
  check(`authorizer.path('/healthz').check('post').allowed()`, false, 'post /healthz')
  check(
    `authorizer.group('apps').resource('deployments').check('get').reason()`,
    'reading is free',
    'get apps/*/deployments///',
  )
  check(
    `authorizer.group('').resource('pods').subresource('log').namespace('n').name('p').check('get').allowed()`,
    true,
    'get /*/pods/log/n/p',
  )
  check(`authorizer.group('').resource('pods').check('fail').errored()`, true, 'fail /*/pods///')
  check(`authorizer.group('').resource('pods').check('fail').error()`, 'it broke', 'fail /*/pods///')
  check(`authorizer.group('').resource('pods').check('get').error()`, '', 'get /*/pods///')
  check(`authorizer.serviceAccount('ns', 'sa').path('/x').check('get').allowed()`, true, 'ns:sa get /x')
  check(
    `authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('list').allowed()`,
    false,
    'list /*/pods/// a=b c',
  )
  check(`authorizer.requestResource.check('get').allowed()`, true, 'get /*/pods//a/b')
  check(`authorizer.requestResource.name('c').check('get').allowed()`, true, 'get /*/pods//a/c')
})

test('invalid authorization checks are faults', () => {
  const check = (expression: string, message: string): void => {
    assert.throws(() => run(expression, check => decide(check, [])), {
      name: 'EvaluationError',
      message,
    })
  }
  check(`authorizer.path(' ')`, 'path must not be empty')
  check(`authorizer.group('apps').resource('')`, 'resource must not be empty')
  check(`authorizer.serviceAccount('not@a#valid!namespace', 'valid')`, 'Invalid service account namespace')
  check(`authorizer.serviceAccount('valid', 'invalid@*name')`, 'Invalid service account name')
  const three = ['a', 'b', 'c']
    .map(path => `authorizer.path('/${path}').check('post').allowed()`)
    .join(' || ')
  check(three, 'operation cancelled: actual cost limit exceeded')
})

test('asynchronous decisions are awaited, requested once, and not absorbed by operators', async () => {
  const asked: string[] = []
  const later: Authorize = async check => decide(check, asked)
  const expression = `authorizer.path('/a').check('post').allowed() || authorizer.path('/b').check('get').allowed()`
  const value = run(expression, later)
  assert.ok(value instanceof Promise)
  assert.equal(await value, true)
  assert.deepEqual(asked, ['post /a', 'get /b'])
})

test('an authorizer error becomes a decision with an error', async () => {
  const failing: Authorize = () => Promise.reject(new Error('the webhook is gone'))
  assert.equal(await run(`authorizer.path('/a').check('get').error()`, failing), 'the webhook is gone')
  assert.equal(await run(`authorizer.path('/a').check('get').allowed()`, failing), false)
})
