import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEncryptionConfiguration } from './configuration.ts'

const secret = Buffer.alloc(32, 's').toString('base64')
const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n'
const file = (resources: unknown): string => `${head}resources: ${JSON.stringify(resources)}\n`
const providers = [{ identity: {} }]
const aes = (key: object) => [{ resources: ['secrets'], providers: [{ aescbc: { keys: [key] } }] }]
const kms = (fields: object) => [
  {
    resources: ['secrets'],
    providers: [{ kms: { apiVersion: 'v2', name: 'a', endpoint: 'unix:///a.sock', ...fields } }],
  },
]

test('EncryptionConfiguration is parsed with its keys', () => {
  const [list] = parseEncryptionConfiguration(
    file([
      {
        resources: ['secrets'],
        providers: [
          { secretbox: { keys: [{ name: 'a', secret }] } },
          { kms: { apiVersion: 'v2', name: 'k', endpoint: 'unix:///a.sock', timeout: '1.5s' } },
          { identity: {} },
        ],
      },
    ]),
  )
  assert.deepEqual(
    list?.providers.map(({ type }) => type),
    ['secretbox', 'kms', 'identity'],
  )
  assert.deepEqual(list?.providers[1], {
    type: 'kms',
    name: 'k',
    endpoint: 'unix:///a.sock',
    timeoutMs: 1_500,
  })
})

test('errors in EncryptionConfiguration do not disclose keys', () => {
  const check = (text: string, message: RegExp): void => {
    assert.throws(
      () => parseEncryptionConfiguration(text),
      (error: Error) => {
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /c3Nz|sssss/)
        return true
      },
    )
  }
  check('', /apiVersion|version/)
  check('a: [', /./)
  check(head, /resources: Required value: at least one resources is required/)
  check(`${head}resourcez: []`, /unknown field "resourcez"/)
  check(file([{}]), /resources\[0\].resources: Required value.*resources\[0\].providers: Required value/)
  check(
    file([{ resources: ['*'], providers }]),
    /resources\[0\].resources\[0\]: Invalid value: "\*": use '\*\.'/,
  )
  check(file([{ resources: ['Secrets'], providers }]), /capital letters/)
  check(file([{ resources: ['secrets', '*.'], providers }]), /overlapping/)
  check(file([{ resources: ['secrets', 'secrets'], providers }]), /multiple times/)
  check(file([{ resources: ['secrets.*'], providers }]), /across groups/)
  check(file([{ resources: ['events.events.k8s.io'], providers }]), /Use 'events' instead/)
  check(file([{ resources: ['deployments.extensions'], providers }]), /'extensions' group has been removed/)
  check(file([{ resources: ['serviceipallocations'], providers }]), /do not have REST/)
  check(file([{ resources: ['secrets'], providers: [{}] }]), /does not contain any of the expected providers/)
  const two = [{ identity: {}, aescbc: { keys: [{ name: 'a', secret }] } }]
  check(file([{ resources: ['secrets'], providers: two }]), /more than one provider/)
  check(file(aes({ name: 'a' })), /keys\[0\].secret: Required value/)
  check(file(aes({ secret })), /keys\[0\].name: Required value/)
  check(file(aes({ name: 'a', secret: secret.slice(0, -2) })), /REDACTED.*base64/)
  check(file(aes({ name: 'a', secret: 'c3Nzc3Nzc3M=' })), /REDACTED.*got 8, expected one of \[16 24 32\]/)
  check(file(aes({ name: 'a', secret: [12] })), /cannot be handled/)
  check(file(kms({ apiVersion: 'v1' })), /only v2 is supported/)
  check(file(kms({ endpoint: 'http://a' })), /unsupported scheme "http"/)
  check(file(kms({ timeout: '-1s' })), /timeout should be a positive value/)
  check(file(kms({ name: 'a:b' })), /must not contain ':'/)
  check(file([...kms({}), ...kms({})]), /duplicate KMS provider name a/)
})
