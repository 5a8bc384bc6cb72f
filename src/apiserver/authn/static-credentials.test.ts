import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BearerToken } from './bearer-token.ts'
import { parseCsv } from './static-credentials.ts'
import { BasicAuth, StaticTokens } from './static-credentials.ts'

test('parseCsv reads quoted fields', () => {
  const check = (text: string, expected: string[][]): void => assert.deepEqual(parseCsv(text), expected)
  check('', [])
  check('\n\r\n', [])
  check('a,b\nc', [['a', 'b'], ['c']])
  check('a,b,\r\n', [['a', 'b', '']])
  check('a,,b', [['a', '', 'b']])
  check('"a,b","c\nd","e ""f"""', [['a,b', 'c\nd', 'e "f"']])
  check('""', [['']])
  check(' a , b ', [[' a ', ' b ']])
  assert.throws(() => parseCsv('a,b\nc,d"e'), /^Error: line 2: unexpected quote$/)
  assert.throws(() => parseCsv('a,"b" c'), /line 1/)
  assert.throws(() => parseCsv('"a'), /line 1/)
})

test('parseCsv reads back random written values', () => {
  const record = fc.array(fc.string(), { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(fc.array(record), records => {
      const text = records
        .map(each => each.map(value => `"${value.replaceAll('"', '""')}"`).join(','))
        .join('\n')
      assert.deepEqual(parseCsv(text), records)
    }),
    { numRuns: 200 },
  )
})

test('a static token file maps tokens to users', () => {
  const tokens = new StaticTokens('t1,alice,1,"a,b"\nt2,bob,,\n,nobody,3\nt1b,,4\n')
  const check = (token: string, expected: object | undefined): void => {
    assert.deepEqual(tokens.authenticate(new BearerToken(token)), expected && { user: expected })
  }
  check('t1', { username: 'alice', uid: '1', groups: ['a', 'b'] })
  check('t2', { username: 'bob', groups: [] })
  check('', undefined)
  check('t3', undefined)
  check('__proto__', undefined)
  assert.throws(
    () => new StaticTokens('t1,alice,1\nsecret,bob\n'),
    (error: Error) => {
      assert.match(error.message, /^record 2 must have at least 3 columns \(token, user name, user uid\)$/)
      return true
    },
  )
})

test('an empty password is rejected', () => {
  const passwords = new BasicAuth('secret,alice,1\n,bob,2\n')
  const request = (text: string) =>
    ({
      headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` },
    }) as never
  assert.deepEqual(passwords.authenticate(request('alice:secret')), {
    user: { username: 'alice', uid: '1', groups: [] },
  })
  for (const text of ['bob:', 'bob', ':', '', 'carol:', 'alice:secret2', '__proto__:', 'constructor:']) {
    assert.deepEqual(
      passwords.authenticate(request(text)),
      { failure: 'invalid username/password combination' },
      text,
    )
  }
})
