import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import { nodeCrypto } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { caCertHash, splitCertificates, validateCaCertHash, validatePinnedCa } from './ca-cert-hash.ts'
import { issueCaCertificate } from './certificates/issue.ts'
import { joinCommand } from './join-command.ts'

const options = { platform: new Simulation({ seed: 1 }).host('a'), crypto: nodeCrypto() }
const token = 'abcdef.0123456789abcdef'
let first: string
let second: string

before(async () => {
  first = (await issueCaCertificate(options, 'kubernetes')).cert
  second = (await issueCaCertificate(options, 'kubernetes')).cert
})

test('the hash of a CA is that of its public key', () => {
  const info = new X509Certificate(first).publicKey.export({ type: 'spki', format: 'der' })
  assert.equal(caCertHash(first), `sha256:${createHash('sha256').update(info).digest('hex')}`)
  assert.deepEqual(
    splitCertificates(`text\n${first}${second}`).map(caCertHash),
    [first, second].map(caCertHash),
  )
  assert.throws(() => splitCertificates('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'))
})

test('one CA of a bundle must have one of the hashes', () => {
  const upper = caCertHash(second).toUpperCase().replace('SHA256', 'sha256')
  assert.equal(validatePinnedCa(first + second, [upper]), undefined)
  assert.match(
    validatePinnedCa(first, [caCertHash(second)]) ?? '',
    /none of the public keys sha256:\w+ are pinned/,
  )
  assert.match(validatePinnedCa('', [caCertHash(second)]) ?? '', /there is no CA certificate/)
})

test('a hash must be sha256 with 64 digits', () => {
  const check = (hash: string, expected: RegExp | undefined): void => {
    const problem = validateCaCertHash(hash)
    if (expected === undefined) assert.equal(problem, undefined)
    else assert.match(problem ?? '', expected)
  }
  check(caCertHash(first), undefined)
  check('abc', /expected "format:hex-value"/)
  check(`md5:${'0'.repeat(64)}`, /unknown hash format "md5", expected sha256/)
  check('sha256:1234', /expected 64 hexadecimal digits/)
  check(`sha256:${'x'.repeat(64)}`, /expected 64 hexadecimal digits/)
})

test('the join command has the endpoint, the token and a hash for each CA', () => {
  const hashes = [first, second].map(each => `--discovery-token-ca-cert-hash ${caCertHash(each)}`)
  assert.equal(
    joinCommand({ server: 'https://10.0.0.1:6443', caCertificates: first, token }),
    `k8ts join 10.0.0.1:6443 --token ${token} ${hashes[0]}`,
  )
  assert.equal(
    joinCommand({
      server: 'https://[fd00::1]',
      caCertificates: first + second,
      token,
      certificateKey: 'ff00',
    }),
    `k8ts join [fd00::1]:443 --token ${token} ${hashes.join(' ')} --control-plane --certificate-key ff00`,
  )
})
