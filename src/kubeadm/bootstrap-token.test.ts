import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { Simulation } from '#/platform/simulated.ts'
import {
  bootstrapTokenId,
  bootstrapTokenSecret,
  generateBootstrapToken,
  nodeBootstrapTokenGroup,
  parseBootstrapToken,
  readBootstrapTokenSecret,
  validateBootstrapToken,
  type BootstrapToken,
} from './bootstrap-token.ts'
import { createBootstrapToken, deleteBootstrapToken, listBootstrapTokens } from './bootstrap-tokens.ts'

const token: BootstrapToken = {
  id: 'abcdef',
  secret: '0123456789abcdef',
  description: 'the rack by the window',
  expiresMs: Date.UTC(2026, 5, 1),
  usages: ['authentication', 'signing'],
  groups: [nodeBootstrapTokenGroup],
}

test('a token is an ID of six and a secret of sixteen characters', () => {
  assert.deepEqual(parseBootstrapToken('abcdef.0123456789abcdef'), {
    id: 'abcdef',
    secret: '0123456789abcdef',
  })
  for (const text of [
    '',
    'abcdef',
    'abcdef.0123456789abcde',
    'abcdeF.0123456789abcdef',
    'abcdef.0123456789abcdef\n',
  ])
    assert.equal(parseBootstrapToken(text), undefined)
  assert.equal(bootstrapTokenId('abcdef'), 'abcdef')
  assert.equal(bootstrapTokenId('abcdef.0123456789abcdef'), 'abcdef')
  assert.equal(bootstrapTokenId('abcdefg'), undefined)
})

test('generated tokens are valid, different, and use all characters', () => {
  const { random } = new Simulation({ seed: 1 }).host('a')
  const all = Array.from({ length: 200 }, () => generateBootstrapToken(random))
  assert.ok(all.every(text => parseBootstrapToken(text) !== undefined))
  assert.equal(new Set(all).size, all.length)
  assert.equal(new Set(all.join('').replaceAll('.', '')).size, 36)
})

test('usages and groups are validated', () => {
  const check = (
    usages: readonly string[],
    groups: readonly string[],
    expected: RegExp | undefined,
  ): void => {
    const problem = validateBootstrapToken({ usages, groups })
    if (expected === undefined) assert.equal(problem, undefined)
    else assert.match(problem ?? '', expected)
  }
  check(token.usages, token.groups, undefined)
  check(['signing'], [], undefined)
  check(['signing'], [nodeBootstrapTokenGroup], /groups cannot be specified unless/)
  check(['fly'], [], /invalid bootstrap token usage "fly": must be one of signing, authentication/)
  check(['authentication'], ['system:masters'], /bootstrap group "system:masters" is invalid/)
})

test('a token and its Secret have the same content', () => {
  const eternal = { ...token, description: '', expiresMs: undefined, groups: [], usages: ['signing'] }
  for (const each of [token, eternal])
    assert.deepEqual(readBootstrapTokenSecret(bootstrapTokenSecret(each)), each)
  assert.deepEqual(Object.keys(bootstrapTokenSecret(eternal).data ?? {}).sort(), [
    'token-id',
    'token-secret',
    'usage-bootstrap-signing',
  ])
})

test('a Secret that is no valid token is reported with the reason', () => {
  const check = (
    change: Readonly<Record<string, string>>,
    expected: RegExp,
    name = 'bootstrap-token-abcdef',
  ): void => {
    const data = Object.entries(change).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
    const secret: Secret = {
      ...bootstrapTokenSecret(token),
      metadata: { name },
      data: { ...bootstrapTokenSecret(token).data, ...Object.fromEntries(data) },
    }
    const read = readBootstrapTokenSecret(secret)
    assert.match(typeof read === 'string' ? read : '', expected)
  }
  check({ 'token-secret': 'short' }, /has no valid token-id and token-secret/)
  check({}, /must be named bootstrap-token-abcdef/, 'bootstrap-token-fedcba')
  check({ expiration: 'tomorrow' }, /has an expiration that is not a time: "tomorrow"/)
})

test('tokens are created, listed and deleted in a cluster', async t => {
  const { client, run, create } = await startTestControlPlane(t, [])
  await run(createBootstrapToken(client, token))
  await assert.rejects(run(createBootstrapToken(client, token)), /a token with id "abcdef" already exists/)
  await create(secrets, {
    metadata: { namespace: 'kube-system', name: 'bootstrap-token-broken' },
    type: 'bootstrap.kubernetes.io/token',
  })
  await create(secrets, { metadata: { namespace: 'kube-system', name: 'other' } })
  const listed = await run(listBootstrapTokens(client))
  assert.deepEqual(listed.tokens, [token])
  assert.deepEqual(listed.problems, ['Secret bootstrap-token-broken has no valid token-id and token-secret'])
  assert.equal(await run(deleteBootstrapToken(client, 'abcdef.0123456789abcdef')), 'abcdef')
  assert.deepEqual((await run(listBootstrapTokens(client))).tokens, [])
  await assert.rejects(run(deleteBootstrapToken(client, 'abcdef')), /there is no token with this ID/)
  await assert.rejects(run(deleteBootstrapToken(client, 'no token')), /given token didn't match pattern/)
})
