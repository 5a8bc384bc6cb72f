/** Invalid tokens that resemble a valid one. */
import { createHmac, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { signingKey } from '../keys.ts'
import { strange, type Draw } from './draw.ts'

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const strangerRsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const published = createPublicKey(signingKey)
const secrets = [
  published.export({ type: 'spki', format: 'pem' }),
  published.export({ type: 'spki', format: 'der' }),
  JSON.stringify(published.export({ format: 'jwk' })),
  '',
  'secret',
]

type Parts = Readonly<Record<string, unknown>>

/** Returns a token that must not authenticate. */
export function drawToken(draw: Draw, good: string): string {
  const token = forge(draw, good)
  // The server ignores everything after a space.
  return token.split(' ')[0] === good ? `${good}x` : token
}

const noAlgorithms = ['none', 'None', 'NONE', 'nOnE', '', null, 'HS256', 0]
const emptySignatures = [Buffer.alloc(64), Buffer.alloc(64, 0xff), Buffer.alloc(0), Buffer.alloc(1)]

function forge(draw: Draw, good: string): string {
  const [head = '', payload = '', signature = ''] = good.split('.')
  const header = read(head)
  const claims = read(payload)
  switch (draw.integer(12)) {
    case 0:
      return `${write({ ...header, alg: draw.one(noAlgorithms) })}.${payload}.${draw.one(['', signature, 'AA'])}`
    case 1:
      return withSecret(
        draw,
        draw.oneIn(2) ? header : { alg: 'HS256' },
        draw.oneIn(2) ? claims : greedy(draw, claims),
      )
    case 2:
      return signed(
        draw.one([stranger, strangerRsa]),
        { ...header, ...keyHeaders(draw) },
        draw.oneIn(2) ? claims : greedy(draw, claims),
      )
    case 3:
      return `${head}.${write(greedy(draw, claims))}.${signature}`
    case 4:
      return `${write({ ...header, ...keyHeaders(draw) })}.${payload}.${signature}`
    case 5: {
      const other = draw.one([...emptySignatures, draw.bytes(64), derOf(signature)])
      return `${head}.${payload}.${other.toString('base64url')}`
    }
    case 6:
      return good.slice(0, draw.integer(good.length))
    case 7:
      return draw.one([
        `${good}.`,
        `.${good}`,
        `${good}=`,
        `${good}==`,
        `${good}.${signature}`,
        `${head}..${signature}`,
        `${good},${good}`,
        `${good}\0`,
        good.replaceAll('.', '..'),
      ])
    case 8:
      return draw.one([
        '.',
        '..',
        '...',
        'a.b.c',
        '.'.repeat(10_000),
        'A'.repeat(100_000),
        `${'e30.'.repeat(5_000)}e30`,
        draw.text(200),
      ])
    case 9:
      return `${write(deep(draw.integer(3_000)))}.${payload}.${signature}`
    case 10:
      return draw.one([
        draw.one(strange),
        'abcdef.0123456789abcdef',
        `abcdef.${draw.text(16)}`,
        Buffer.from(good).toString('base64'),
      ])
    default:
      return draw.mutate(good)
  }
}

/** Claims of an attacker. */
function greedy(draw: Draw, claims: Parts): Parts {
  const wishes: readonly Parts[] = [
    { sub: 'system:serviceaccount:kube-system:generic-garbage-collector' },
    { sub: 'system:admin', groups: ['system:masters'] },
    { exp: 99_999_999_999 },
    { exp: -1 },
    { exp: 'never' },
    { exp: null },
    { aud: '*' },
    { aud: [] },
    { iss: 'kubernetes/serviceaccount' },
    { iss: 'https://elsewhere.example' },
    { 'kubernetes.io': { namespace: 'kube-system', serviceaccount: { name: 'default', uid: '' } } },
    { 'kubernetes.io': null },
    {
      'kubernetes.io/serviceaccount/namespace': 'kube-system',
      'kubernetes.io/serviceaccount/secret.name': 'marked',
    },
    { ['__proto__']: { admin: true } },
  ]
  return Object.assign({ ...claims }, draw.one(wishes), ...draw.some(wishes, 2)) as Parts
}

function keyHeaders(draw: Draw): Parts {
  const own = createPublicKey(stranger).export({ format: 'jwk' })
  const wishes: readonly Parts[] = [
    { kid: '' },
    { kid: undefined },
    { kid: '../../../../dev/null' },
    { kid: "' OR 1=1 --" },
    { kid: 7 },
    { kid: 'x'.repeat(5_000) },
    { jwk: own },
    { jku: 'http://127.0.0.1:1/keys' },
    { x5u: 'http://127.0.0.1:1/' },
    { x5c: ['AAAA'] },
    { crit: ['exp'] },
    { b64: false, crit: ['b64'] },
    { typ: 'JWT', cty: 'JWT' },
    { alg: 'ES384' },
    { alg: 'PS256' },
    { alg: 'RS256' },
    { alg: 'es256' },
    { alg: '__proto__' },
    { zip: 'DEF' },
    { enc: 'A128GCM' },
  ]
  return Object.assign({}, draw.one(wishes), ...draw.some(wishes, 2)) as Parts
}

function withSecret(draw: Draw, header: Parts, claims: Parts): string {
  const digest = draw.one(['256', '384', '512'])
  const text = `${write({ ...header, alg: `HS${digest}` })}.${write(claims)}`
  return `${text}.${createHmac(`sha${digest}`, draw.one(secrets)).update(text).digest('base64url')}`
}

function signed(key: KeyObject, header: Parts, claims: Parts): string {
  const text = `${write(header)}.${write(claims)}`
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

/** The same signature in DER encoding. */
function derOf(signature: string): Buffer {
  const bytes = Buffer.from(signature, 'base64url')
  return Buffer.concat([
    Buffer.from([0x30, 68, 2, 32]),
    bytes.subarray(0, 32),
    Buffer.from([2, 32]),
    bytes.subarray(32),
  ])
}

function deep(depth: number): string {
  return `${'{"alg":'.repeat(depth)}"ES256"${'}'.repeat(depth)}`
}

function read(part: string): Parts {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Parts
}

function write(value: Parts | string): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}
