import assert from 'node:assert/strict'
import { constants, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { keyIdOf, readJsonWebKeys, toJsonWebKey } from './json-web-key.ts'
import { decodeToken, signToken, tokenAlgorithmOf, verifyToken } from './json-web-token.ts'

const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
}

const claims = { iss: 'https://issuer', sub: 'somebody', exp: 1_800_000_000 }

function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

function signed(name: keyof typeof keys): string {
  const { privateKey } = keys[name]
  return signToken(claims, { privateKey, keyId: keyIdOf(privateKey) })
}

describe('tokens', () => {
  const check = (name: keyof typeof keys, algorithm: string): void => {
    const token = decodeToken(signed(name))
    assert.equal(token?.algorithm, algorithm)
    assert.equal(token.keyId, keyIdOf(keys[name].publicKey))
    assert.deepEqual(token.claims, claims)
    for (const [other, { publicKey }] of Object.entries(keys)) {
      assert.equal(verifyToken(token, publicKey), other === name, other)
    }
  }

  test('tokens are verified only by the key that signed them', () => {
    check('rsa', 'RS256')
    check('p256', 'ES256')
    check('p384', 'ES384')
    check('p521', 'ES512')
  })

  test('tokens are verified with the published key', () => {
    for (const { publicKey } of Object.values(keys)) {
      const published: unknown = JSON.parse(
        JSON.stringify({ keys: [toJsonWebKey({ keyId: 'one', key: publicKey })] }),
      )
      const [read, ...others] = readJsonWebKeys(published)
      assert.deepEqual([read?.keyId, others], ['one', []])
      assert.ok(read?.key.equals(publicKey))
    }
    const [head, body, tail] = signed('p256').split('.')
    const key = createPublicKey({
      key: { ...toJsonWebKey({ keyId: '', key: keys.p256.publicKey }) },
      format: 'jwk',
    })
    const given = { key, dsaEncoding: 'ieee-p1363' } as const
    assert.ok(verify('sha256', Buffer.from(`${head}.${body}`), given, Buffer.from(tail!, 'base64url')))
  })

  test('tokens of other RSA algorithms are verified', () => {
    for (const [alg, digest] of [
      ['RS384', 'sha384'],
      ['PS256', 'sha256'],
      ['PS512', 'sha512'],
    ] as const) {
      const text = `${encode({ alg })}.${encode(claims)}`
      const padding = alg.startsWith('P') ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING
      const saltLength = alg.startsWith('P') ? constants.RSA_PSS_SALTLEN_DIGEST : undefined
      const signature = sign(digest, Buffer.from(text), { key: keys.rsa.privateKey, padding, saltLength })
      const token = decodeToken(`${text}.${signature.toString('base64url')}`)
      assert.ok(token && verifyToken(token, keys.rsa.publicKey), alg)
    }
  })

  test('tokens with algorithm none or HMAC are rejected', () => {
    const [, body = '', tail = ''] = signed('rsa').split('.')
    const headers = [
      { alg: 'none' },
      { alg: 'HS256' },
      { alg: '' },
      {},
      { alg: ['RS256'] },
      { alg: 'toString' },
      {
        alg: '__proto__',
      },
      { alg: 'RS256', crit: ['exp'] },
      { alg: 'RS256', kid: 7 },
      [],
      null,
      7,
    ]
    for (const header of headers) {
      assert.equal(decodeToken(`${encode(header)}.${body}.${tail}`), undefined, JSON.stringify(header))
    }
    assert.equal(decodeToken(`${encode({ alg: 'none' })}.${body}.`), undefined)
  })

  test("tokens with another algorithm than the key's are rejected", () => {
    const [, body = '', tail = ''] = signed('p256').split('.')
    for (const alg of ['RS256', 'PS256', 'ES384', 'ES512']) {
      const token = decodeToken(`${encode({ alg })}.${body}.${tail}`)
      assert.ok(token)
      for (const { publicKey } of Object.values(keys)) assert.equal(verifyToken(token, publicKey), false)
    }
  })

  test('token claims named like Object members are own properties', () => {
    const odd = '{"__proto__":{"sub":"admin"},"constructor":1}'
    const token = decodeToken(`${encode({ alg: 'ES256' })}.${encode(odd)}.${encode('x')}`)
    assert.equal(token?.claims['sub'], undefined)
    assert.equal(({} as { sub?: string }).sub, undefined)
  })
})

test('a changed or truncated token is rejected', () => {
  const original = signed('p256')
  const { publicKey } = keys.p256
  const alphabet = fc.constantFrom(...Array.from('ABCXYZabcxyz0189-_.=+/ \0é'))
  fc.assert(
    fc.property(fc.nat(original.length - 1), alphabet, (at, character) => {
      const changed = original.slice(0, at) + character + original.slice(at + 1)
      const token = decodeToken(changed)
      assert.equal(token !== undefined && verifyToken(token, publicKey), changed === original)
      const cut = decodeToken(original.slice(0, at))
      assert.equal(cut !== undefined && verifyToken(cut, publicKey), false)
    }),
    { numRuns: 400 },
  )
})

test('verifying random text never throws', () => {
  const { publicKey } = keys.p256
  const part = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map(encode),
    fc.constant(encode({ alg: 'ES256' })),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), parts => {
      const token = decodeToken(parts.join('.'))
      if (token) assert.equal(verifyToken(token, publicKey), false)
    }),
    { numRuns: 500 },
  )
  assert.equal(decodeToken('x'.repeat(10_000_000)), undefined)
  assert.equal(decodeToken('.'.repeat(60_000)), undefined)
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  assert.equal(decodeToken(`${encode({ alg: 'ES256' })}.${encode(deep)}.${encode('x')}`), undefined)
})

test('only signature keys of a JWKS are used', () => {
  const good = toJsonWebKey({ keyId: 'good', key: keys.p256.publicKey })
  const check = (set: unknown, ids: readonly string[]): void => {
    assert.deepEqual(
      readJsonWebKeys(set).map(({ keyId }) => keyId),
      ids,
    )
  }
  check({ keys: [good, { ...good, kid: 'encrypts', use: 'enc' }, { ...good, kid: 'damaged', x: 'x' }] }, [
    'good',
  ])
  check({ keys: [null, 7, 'x', [], {}, { kty: 'oct', k: 'c2VjcmV0' }, { ...good, kid: 7 }] }, [])
  check({ keys: 'x' }, [])
  for (const set of [null, undefined, 7, [], {}]) check(set, [])
  check(
    { keys: Array.from({ length: 2_000 }, (_, index) => ({ ...good, kid: String(index) })) },
    Array.from({ length: 256 }, (_, index) => String(index)),
  )
  const { privateKey } = generateKeyPairSync('ed25519')
  assert.equal(tokenAlgorithmOf(privateKey), undefined)
  assert.throws(() => signToken({}, { privateKey, keyId: '' }), /unsupported key type/)
})
