import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '../request.ts'
import { AbacAuthorizer, parseAbacPolicies } from './abac-authorizer.ts'
import { readQuestion } from './test-cluster.ts'

function policy(spec: unknown): string {
  return JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec })
}

const file = `
# who reads what
${policy({ user: 'alice', namespace: '*', resource: '*', apiGroup: '*' })}
${policy({ user: 'bob', namespace: 'n', resource: 'pods', readonly: true })}

${policy({ user: 'bob', group: 'deep', namespace: 'n', resource: 'secrets' })}
  ${policy({ group: 'ops', nonResourcePath: '/metrics/*' })}
${policy({ user: '*', nonResourcePath: '/version', readonly: true })}
{"user":"old","resource":"pods"}
{"user":"older","readonly":true}
${policy({ namespace: '*', resource: '*', apiGroup: '*' })}
`

const abac = new AbacAuthorizer(parseAbacPolicies(file, '/etc/policy'))

function user(username: string, ...groups: readonly string[]): UserInfo {
  return { username, groups: [...groups, 'system:authenticated'] }
}

test('an ABAC policy allows what it names to a user or group', () => {
  const check = (who: UserInfo, question: string, decision: 'allow' | 'no opinion'): void => {
    const reason = decision === 'allow' ? '' : 'No policy matched.'
    assert.deepEqual(
      abac.authorize(readQuestion(who, question)),
      { decision, reason },
      `${who.username} ${question}`,
    )
  }
  check(user('alice'), 'delete deployments.apps any/x', 'allow')
  check(user('alice'), 'delete nodes x', 'allow')
  check(user('alice'), 'get /metrics/x', 'no opinion')
  for (const verb of ['get', 'list', 'watch']) check(user('bob'), `${verb} pods n/x`, 'allow')
  check(user('bob'), 'delete pods n/x', 'no opinion')
  check(user('bob'), 'get pods m/x', 'no opinion')
  check(user('bob'), 'get pods.apps n/x', 'no opinion')
  check(user('bob'), 'get secrets n/x', 'no opinion')
  check(user('bob', 'deep'), 'delete secrets n/x', 'allow')
  check(user('carol', 'deep'), 'get secrets n/x', 'no opinion')
  check(user('carol', 'ops'), 'post /metrics/slis', 'allow')
  check(user('carol', 'ops'), 'get /metrics', 'no opinion')
  check(user('carol'), 'get /version', 'allow')
  check(user('carol'), 'post /version', 'no opinion')
  check({ username: 'system:anonymous', groups: [] }, 'get /version', 'no opinion')
  check(user('old'), 'delete pods any/x', 'allow')
  check(user('old'), 'get /any', 'no opinion')
  check(user('older'), 'list x.example.com', 'allow')
  check(user('older'), 'get /any', 'allow')
  check(user('older'), 'delete pods n/x', 'no opinion')
  check(user(''), 'get pods n/x', 'no opinion')
})

test('the rules of a user come from its ABAC policies', () => {
  assert.deepEqual(abac.rulesFor(user('bob'), 'n'), {
    resourceRules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
    nonResourceRules: [],
    incomplete: false,
    errors: [],
  })
  const { nonResourceRules } = abac.rulesFor(user('older'), 'm')
  assert.deepEqual(nonResourceRules, [{ verbs: ['get', 'list', 'watch'], nonResourceURLs: ['*'] }])
})

test('an invalid ABAC line is rejected with its number', () => {
  const check = (text: string, message: RegExp): void => {
    assert.throws(() => parseAbacPolicies(text, '/etc/policy'), message)
  }
  check('# fine\n{', /^Error: error reading policy file \/etc\/policy, line 2: /)
  check('[]', /line 1: a policy must be an object/)
  check('{"user":1}', /line 1: user must be a string/)
  check('{"readonly":"yes"}', /line 1: readonly must be true or false/)
  check(policy([]), /line 1: a policy must be an object/)
  check('['.repeat(100_000), /line 1: /)
  assert.deepEqual(parseAbacPolicies('', 'x'), [])
  const [strange] = parseAbacPolicies('{"__proto__":{"user":"x"},"user":"y","resource":"pods"}', 'x')
  assert.equal(strange?.user, 'y')
})
