import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '../request.ts'
import { privilegedGroupAuthorizer, alwaysAllow, alwaysDeny } from './always.ts'
import { authorizerChain } from './authorizer-chain.ts'
import type { Attributes, Authorization, Authorizer } from './authorizer.ts'
import { parseModes } from './modes.ts'

const eve: UserInfo = { username: 'eve', groups: [] }
const question: Attributes = { user: eve, isResource: false, verb: 'get', path: '/' }

const says = (decision: Authorization['decision'], reason = '', error?: string): Authorizer => {
  return { authorize: () => ({ decision, reason, ...(error && { error }) }) }
}
const later = (authorizer: Authorizer): Authorizer => {
  return { authorize: async attributes => authorizer.authorize(attributes) }
}
const fails: Authorizer = {
  authorize: () => {
    throw new Error('must not be asked')
  },
}

test('the first authorizer with an opinion decides', async () => {
  const check = async (authorizers: readonly Authorizer[], expected: Authorization): Promise<void> => {
    assert.deepEqual(await authorizerChain(authorizers).authorize(question), expected)
    assert.deepEqual(await authorizerChain(authorizers.map(later)).authorize(question), expected)
  }
  await check([], { decision: 'no opinion', reason: '' })
  await check([says('allow', 'a'), fails], { decision: 'allow', reason: 'a' })
  await check([says('deny', 'a'), fails], { decision: 'deny', reason: 'a' })
  await check([says('no opinion', 'a'), says('allow', 'b'), fails], { decision: 'allow', reason: 'b' })
  await check([says('no opinion', 'a'), says('no opinion'), says('no opinion', 'b')], {
    decision: 'no opinion',
    reason: 'a\nb',
  })
  await check([says('no opinion', '', 'x'), says('no opinion', 'b', 'y'), says('no opinion', '', 'x')], {
    decision: 'no opinion',
    reason: 'b',
    error: '[x, y]',
  })
  await check([says('no opinion', '', 'x'), says('allow')], { decision: 'allow', reason: '' })
})

test('an authorizer chain is synchronous while its authorizers are', () => {
  assert.ok(!(authorizerChain([says('no opinion'), says('allow')]).authorize(question) instanceof Promise))
  assert.ok(
    authorizerChain([later(says('no opinion')), says('allow')]).authorize(question) instanceof Promise,
  )
})

test('rules of a chain are combined, and incomplete if an authorizer cannot list them', () => {
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
  assert.deepEqual(authorizerChain([privilegedGroupAuthorizer, alwaysDeny, alwaysAllow]).rulesFor(eve, 'n'), {
    resourceRules: [all],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
    errors: [],
  })
  assert.equal(authorizerChain([alwaysAllow, says('allow')]).rulesFor(eve, 'n').incomplete, true)
})

test('system:masters is always allowed, and AlwaysDeny has no precedence over other authorizers', async () => {
  const chain = authorizerChain([privilegedGroupAuthorizer, alwaysDeny])
  assert.deepEqual(await chain.authorize(question), {
    decision: 'no opinion',
    reason: 'Everything is forbidden.',
  })
  const root: UserInfo = { username: 'x', groups: ['system:masters'] }
  assert.equal((await chain.authorize({ ...question, user: root })).decision, 'allow')
  assert.equal((await authorizerChain([alwaysDeny, alwaysAllow]).authorize(question)).decision, 'allow')
})

test('authorization modes must be known and unique', () => {
  assert.deepEqual(parseModes(['Node', 'RBAC']), ['Node', 'RBAC'])
  assert.deepEqual(parseModes(['Webhook', 'ABAC']), ['Webhook', 'ABAC'])
  assert.throws(
    () => parseModes(['RBAC', 'rbac']),
    /authorization-mode "rbac" is not a valid mode: use AlwaysAllow/,
  )
  assert.throws(() => parseModes(['']), /authorization-mode "" is not a valid mode/)
  assert.throws(() => parseModes([]), /at least one authorization-mode/)
  assert.throws(() => parseModes(['RBAC', 'RBAC']), /more than once/)
})
