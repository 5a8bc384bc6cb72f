import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret } from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { coreRules } from './group.ts'

const configMaps = underTest(coreRules['ConfigMap'])
const secrets = underTest(coreRules['Secret'])

test('ConfigMap keys must be valid and unique across data and binaryData', () => {
  const { check } = configMaps
  check({ data: { 'a.b_c-D': 'x' }, binaryData: { b: 'AAAA' } })
  check({ data: { 'a b': '' } }, 'data[a b]: Invalid value: "a b": a valid config key must consist of')
  check({ data: { '..': '' } }, 'data[..]: Invalid value: "..": must not be \'..\'')
  check({ binaryData: { 'a/b': '' } }, 'binaryData[a/b]: Invalid value: "a/b": a valid config key')
  check(
    { data: { a: '' }, binaryData: { a: '' } },
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  )
  check({ data: { ['__proto__']: 'x', constructor: 'y' }, binaryData: { toString: '' } })
})

test('a ConfigMap holds at most 1 MiB', () => {
  const { check } = configMaps
  const half = 'x'.repeat(512 * 1024)
  check({ data: { a: half }, binaryData: { b: Buffer.from(half).toString('base64') } })
  check(
    { data: { a: half, c: 'é' }, binaryData: { b: Buffer.from(half).toString('base64') } },
    '[]: Too long: may not be more than 1048576 bytes',
  )
})

test('an immutable ConfigMap cannot be changed', () => {
  const { checkUpdate } = configMaps
  const old = { immutable: true, data: { a: 'b' } }
  const detail = 'field is immutable when `immutable` is set'
  checkUpdate({ immutable: true, data: { a: 'b' } }, old)
  checkUpdate(
    { data: { a: 'c' }, binaryData: { b: '' } },
    old,
    `immutable: Forbidden: ${detail}`,
    `data: Forbidden: ${detail}`,
    `binaryData: Forbidden: ${detail}`,
  )
  checkUpdate({ data: { a: 'c' } }, { data: { a: 'b' } })
})

const encode = (text: string) => Buffer.from(text).toString('base64')

test('a Secret defaults to type Opaque, and stringData is moved to data', () => {
  const { withDefaults } = secrets
  assert.deepEqual(withDefaults({ data: { a: 'AA==' } }), { data: { a: 'AA==' }, type: 'Opaque' })
  const stringData = { b: 'é', ['__proto__']: 'x' }
  const filled = withDefaults({ data: { a: 'AA==', b: 'AA==' }, stringData }) as Secret
  assert.deepEqual(Object.entries(filled.data ?? {}), [
    ['a', 'AA=='],
    ['b', 'w6k='],
    ['__proto__', 'eA=='],
  ])
  assert.equal('stringData' in filled, false)
})

test('Secret types require their keys', () => {
  const { check } = secrets
  const secret = (type: string, data: Record<string, string>) => {
    const encoded = Object.entries(data).map(([key, text]) => [key, encode(text)])
    return { type: `kubernetes.io/${type}`, data: Object.fromEntries(encoded) as Record<string, string> }
  }
  check({ type: 'example.com/any', data: {} })
  check({ data: { 'a b': '' } }, 'data[a b]: Invalid value: "a b"')
  check(secret('tls', { 'tls.crt': 'x' }), 'data[tls.key]: Required value')
  check(secret('tls', {}), 'data[tls.crt]: Required value', 'data[tls.key]: Required value')
  check(secret('ssh-auth', { 'ssh-privatekey': '' }), 'data[ssh-privatekey]: Required value')
  check(secret('basic-auth', { password: '' }))
  check(secret('basic-auth', {}), 'data[username]: Required value', 'data[password]: Required value')
  check(secret('dockercfg', {}), 'data[.dockercfg]: Required value')
  check(secret('dockercfg', { '.dockercfg': '{"a":{}}' }))
  check(
    secret('dockerconfigjson', { '.dockerconfigjson': '{' }),
    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input',
  )
  check(
    secret('dockerconfigjson', { '.dockerconfigjson': '[]' }),
    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into',
  )
  const annotation = 'kubernetes.io/service-account.name'
  check(secret('service-account-token', {}), `metadata.annotations[${annotation}]: Required value`)
  check({ ...secret('service-account-token', {}), metadata: { annotations: { [annotation]: 'a' } } })
})

test('a Secret holds at most 1 MiB', () => {
  secrets.check(
    { data: { a: Buffer.alloc(1024 * 1024 + 1).toString('base64') } },
    'data: Too long: may not be more than 1048576 bytes',
  )
})

test('the type of a Secret is immutable', () => {
  const { checkUpdate } = secrets
  checkUpdate({ type: 'a/b' }, { type: 'Opaque' }, 'type: Invalid value: "a/b": field is immutable')
  checkUpdate(
    { immutable: true, data: {} },
    { immutable: true, data: { a: '' } },
    'data: Forbidden: field is immutable when `immutable` is set',
  )
  checkUpdate(
    { data: {} },
    { immutable: true, data: {} },
    'immutable: Forbidden: field is immutable when `immutable` is set',
  )
})
