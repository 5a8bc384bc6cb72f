import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JwtFields } from './authentication-schema.ts'
import { mapClaims } from './claim-mapping.ts'
import { toMapping } from './configured-claims.ts'

type Mappings = JwtFields['claimMappings']
const zoe = { claimMappings: { username: { expression: 'claims.sub' } } }

function check(claims: object, fields: Omit<JwtFields, 'issuer'>, expected: object | RegExp): void {
  const mapped = mapClaims({ ...claims }, toMapping({ issuer: {}, ...fields }))
  if (!(expected instanceof RegExp)) return assert.deepEqual(mapped, { user: expected })
  assert.match('failure' in mapped ? mapped.failure : `authenticated: ${JSON.stringify(mapped)}`, expected)
}

test('claim expressions map claims to a user', () => {
  const make = (claims: object, claimMappings: Mappings, expected: object | RegExp): void =>
    check(claims, { claimMappings }, expected)
  const name = (expression: string): Mappings => ({ username: { expression } })
  make({ sub: 'zoe' }, name('"x:" + claims.sub'), { username: 'x:zoe', groups: [] })
  make({ a: { b: ['zoe'] } }, name('claims.a.b[0]'), { username: 'zoe', groups: [] })
  make({}, name('claims.?sub.orValue("nobody")'), { username: 'nobody', groups: [] })
  make({ sub: '' }, name('claims.sub'), /claims\.sub returned no user name/)
  make({ sub: 7 }, name('claims.sub'), /claims\.sub returned no user name/)
  make({}, name('claims.sub'), /claims\.sub returned no user name/)
  const groups = (expression: string): Mappings => ({ ...name('"zoe"'), groups: { expression } })
  make({ roles: 'a,b,' }, groups('claims.roles.split(",")'), { username: 'zoe', groups: ['a', 'b'] })
  make({ role: 'a' }, groups('claims.role'), { username: 'zoe', groups: ['a'] })
  make({ role: null }, groups('claims.role'), { username: 'zoe', groups: [] })
  make({ roles: ['a', 1] }, groups('claims.roles'), /must return a string or a list of strings/)
  make(
    { id: 'u1' },
    { ...name('"zoe"'), uid: { expression: 'claims.id' } },
    {
      username: 'zoe',
      uid: 'u1',
      groups: [],
    },
  )
  make({ id: 1 }, { ...name('"zoe"'), uid: { expression: 'claims.id' } }, /is not a string/)
  const extra = [
    { key: 'a.com/one', valueExpression: 'claims.one' },
    { key: 'a.com/none', valueExpression: '""' },
  ]
  make(
    { one: 'x', jti: 'j' },
    { ...name('"zoe"'), extra },
    {
      username: 'zoe',
      groups: [],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j'], 'a.com/one': ['x'] },
    },
  )
  make({ one: 1 }, { ...name('"zoe"'), extra }, /claims\.one must return/)
})

test('claim and user validation rules reject, also if they cannot be evaluated', () => {
  const claimRule = { expression: 'claims.hd == "example.com"', message: 'only our own people' }
  const claimValidationRules = [claimRule]
  const user = { username: 'zoe', groups: [] }
  check({ sub: 'zoe', hd: 'example.com' }, { ...zoe, claimValidationRules }, user)
  check({ sub: 'zoe', hd: 'other.com' }, { ...zoe, claimValidationRules }, /^oidc: only our own people$/)
  check({ sub: 'zoe' }, { ...zoe, claimValidationRules }, /could not be evaluated: no such key: hd/)
  const userValidationRules = [{ expression: "!user.username.startsWith('system:') && user.uid == ''" }]
  check({ sub: 'zoe' }, { ...zoe, userValidationRules }, user)
  check({ sub: 'system:admin' }, { ...zoe, userValidationRules }, /^oidc: validation rule !user.* failed$/)
  const endless = {
    expression: 'claims.a.all(x, claims.a.all(y, claims.a.all(z, x == y || y == z || true)))',
  }
  const many = Array.from({ length: 2_000 }, (_, index) => index)
  check({ sub: 'zoe', a: many }, { ...zoe, claimValidationRules: [endless] }, /cost limit exceeded/)
  check(
    { sub: 'zoe' },
    { ...zoe, claimValidationRules: [{ expression: '"__proto__" in claims' }] },
    /validation rule .* failed/,
  )
})
