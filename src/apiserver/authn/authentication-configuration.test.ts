import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { readAuthenticationConfiguration } from '../authn.ts'

function file(content: object, apiVersion = 'apiserver.config.k8s.io/v1'): string {
  return JSON.stringify({ apiVersion, kind: 'AuthenticationConfiguration', ...content })
}

const issuer = { url: 'https://a.example.com', audiences: ['k8s'] }
const claimMappings = { username: { claim: 'sub', prefix: 'a:' } }

test('AuthenticationConfiguration sets JWT issuers and anonymous access', () => {
  const { issuers, anonymous } = readAuthenticationConfiguration(`
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://a.example.com
    discoveryURL: https://b.example.com/x
    audiences: [one, two]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - claim: hd
    requiredValue: example.com
  - claim: empty
  claimMappings:
    username: {claim: email, prefix: ""}
    groups: {claim: roles, prefix: "x:"}
    uid: {claim: sub}
anonymous:
  enabled: true
  conditions:
  - path: /livez
  - path: /readyz
`)
  assert.deepEqual(anonymous, { enabled: true, paths: ['/livez', '/readyz'] })
  const [{ algorithms, ...rest } = assert.fail(), ...others] = issuers
  assert.equal(algorithms.length, 9)
  assert.deepEqual(others, [])
  assert.deepEqual(rest, {
    url: 'https://a.example.com',
    discoveryUrl: 'https://b.example.com/x',
    audiences: ['one', 'two'],
    mapping: {
      username: { claim: 'email', prefix: '' },
      groups: {
        claim: 'roles',
        prefix: 'x:',
      },
      uid: { claim: 'sub' },
      required: new Map([
        ['hd', 'example.com'],
        ['empty', ''],
      ]),
    },
  })
})

test('an empty AuthenticationConfiguration has no effect', () => {
  assert.deepEqual(readAuthenticationConfiguration(file({})), { issuers: [] })
  assert.deepEqual(readAuthenticationConfiguration(file({ anonymous: {} })), {
    issuers: [],
    anonymous: { enabled: false, paths: [] },
  })
})

function check(content: object | string, expected: RegExp): void {
  const text = typeof content === 'string' ? content : file(content)
  assert.throws(
    () => readAuthenticationConfiguration(text, ['https://own']),
    error => {
      assert.ok(isApiError(error, 'BadRequest'), String(error))
      assert.match(error.message, expected)
      return true
    },
  )
}

function jwt(changes: object): object {
  return { jwt: [{ issuer, claimMappings, ...changes }] }
}

test('an invalid AuthenticationConfiguration is rejected with field errors', () => {
  check(file({}, 'v1'), /the apiVersion must be one of apiserver\.config\.k8s\.io\/v1,/)
  check('kind: AuthenticationConfiguration', /the apiVersion must be/)
  check('{{{', /cannot decode file/)
  check('[]', /cannot decode file/)
  check({ kind: 'Other' }, /Other in version "v1" cannot be handled/)
  check({ jwd: [] }, /unknown field "jwd"/)
  check({ jwt: [{}] }, /jwt\[0\]\.issuer\.url: Required value.*audiences: Required.*username: Required/)
  check({ jwt: [null] }, /jwt\[0\]\.issuer\.url: Required value/)
  const many = (length: number): object => {
    return { jwt: Array.from({ length }, () => ({ issuer, claimMappings })) }
  }
  check(many(2), /jwt\[1\]\.issuer\.url: Duplicate value/)
  check(many(65), /jwt: Too many: 65: must have at most 64 items/)
  const hidden = { enabled: false, conditions: [{ path: '/x' }] }
  check({ anonymous: hidden }, /enabled should be set to true when conditions are defined/)
})

test('issuer URL, CA and audiences are validated', () => {
  const refuse = (changes: object, expected: RegExp): void => {
    check(jwt({ issuer: { ...issuer, ...changes } }), expected)
  }
  refuse({ url: 'http://a' }, /URL scheme must be https/)
  refuse({ url: 'https://u:p@a' }, /URL must not contain a username or password/)
  refuse({ url: 'https://a?x' }, /URL must not contain a query/)
  refuse({ url: 'https://a#x' }, /URL must not contain a fragment/)
  refuse({ url: ':' }, /URL cannot be parsed/)
  refuse({ url: 'https://own' }, /URL must not overlap with disallowed issuers: \[https:\/\/own\]/)
  refuse({ discoveryURL: 'https://a.example.com/' }, /discoveryURL must be different from URL/)
  refuse({ audiences: ['a', 'b'] }, /audienceMatchPolicy must be MatchAny for multiple audiences/)
  refuse({ audienceMatchPolicy: 'All' }, /must be empty or MatchAny for single audience/)
  refuse({ audiences: ['a', 'a', ''] }, /audiences\[1\]: Duplicate.*audiences\[2\]: Required/)
  refuse({ certificateAuthority: 'x' }, /certificateAuthority: Invalid value: "<omitted>"/)
  refuse({ egressSelectorType: 'cluster' }, /egress selectors are not supported/)
})

test('claim mappings accept either a claim or an expression', () => {
  const refuse = (changes: object, expected: RegExp): void => check(jwt(changes), expected)
  const mapping = (changes: object): object => ({ claimMappings: { ...claimMappings, ...changes } })
  refuse(
    mapping({ username: { expression: 'claims.' } }),
    /username\.expression: .*compilation failed: ERROR/,
  )
  refuse(mapping({ username: { expression: 'user.x' } }), /undeclared reference to 'user'/)
  refuse(mapping({ username: { expression: 'claims.a', prefix: '' } }), /prefix: .*when expression is set/)
  refuse(mapping({ username: { expression: 'claims.email' } }), /claims\.email_verified must be used/)
  refuse(mapping({ username: { expression: 'claims.?email.orValue("")' } }), /email_verified must be used/)
  refuse(mapping({ groups: { expression: '[' } }), /groups\.expression: .*compilation failed/)
  refuse(mapping({ uid: { claim: 'a', expression: 'b' } }), /uid: .*can't both be set/)
  const refuseExtra = (extra: readonly object[], expected: RegExp): void =>
    refuse(mapping({ extra }), expected)
  const valueExpression = 'claims.x'
  refuseExtra([{ key: 'plain', valueExpression }], /extra\[0\]\.key: .*domain-prefixed path/)
  refuseExtra([{ key: 'a.com/B', valueExpression }], /must be lowercase/)
  refuseExtra([{ key: 'a.k8s.io/b', valueExpression }], /are reserved for Kubernetes use/)
  refuseExtra([{ key: 'a.com/b' }], /valueExpression: Required value/)
  const twice = { key: 'a.com/b', valueExpression }
  refuseExtra([twice, twice], /extra\[1\]\.key: Duplicate value/)
  const notBool = /must evaluate to bool but got int/
  refuse({ claimValidationRules: [{ expression: '1 + 1' }] }, notBool)
  refuse({ userValidationRules: [{ expression: '1 + 1' }] }, notBool)
  refuse({ userValidationRules: [{ expression: 'user.nothing == 1' }] }, /undefined field 'nothing'/)
  refuse({ userValidationRules: [{}] }, /expression: Required value/)
  refuse(
    { claimValidationRules: [{ expression: 'true', requiredValue: 'x' }] },
    /requiredValue: .*when expression/,
  )
  refuse({ claimMappings: { username: { claim: 'sub' } } }, /username\.prefix: Required value/)
  refuse({ claimMappings: { username: { claim: 'a', expression: 'x' } } }, /can't both be set/)
  const refuseRules = (rules: readonly object[], expected: RegExp): void => {
    refuse({ claimValidationRules: rules }, expected)
  }
  refuseRules([{}], /claim or expression is required/)
  refuseRules([{ claim: 'a' }, { claim: 'a' }], /claimValidationRules\[1\]\.claim: Duplicate value: "a"/)
  refuseRules([{ claim: 'a', message: 'm' }], /may not be specified when claim is set/)
})
