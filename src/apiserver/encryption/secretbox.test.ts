import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { poly1305 } from '@noble/ciphers/_poly1305.js'
import { DecryptionError } from './cipher.ts'
import { secretbox } from './secretbox.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

/** Test vector of NaCl. */
const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389')
const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37')
const value = hex(`
  be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4
  1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52
  f0a089bc76897040e082f937763848645e0705`)
const box = hex(`
  f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b
  4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da
  99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5`)
const stored = Buffer.concat([nonce, box])

const seal = (bytes: Uint8Array): Uint8Array =>
  secretbox(createSecretKey(key), () => nonce).encrypt(bytes, '')

async function open(bytes: Uint8Array, secret = key): Promise<Uint8Array> {
  const decrypted = await secretbox(createSecretKey(secret), () => nonce).decrypt(bytes, '')
  return Buffer.from(decrypted.value)
}

test('secretbox matches NaCl test vectors', async () => {
  assert.deepEqual(seal(value), stored)
  assert.deepEqual(await open(stored), value)
})

test('secretbox rejects a value with a flipped bit, a wrong key and a short value', async () => {
  const failed = { name: 'DecryptionError', message: /^message authentication failed/ }
  for (let bit = 0; bit < 8 * stored.length; bit += 7) {
    const changed = Buffer.from(stored)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    await assert.rejects(open(changed), failed)
  }
  await assert.rejects(open(stored, Buffer.alloc(32)), failed)
  await assert.rejects(open(Buffer.concat([Buffer.alloc(24), box])), failed)
  await assert.rejects(open(stored.subarray(0, 39)), DecryptionError)
})

test('secretbox round-trips values of any length and alignment with one key', async () => {
  let boxes = 0
  const cipher = secretbox(createSecretKey(key), bytes => Buffer.alloc(bytes, boxes++))
  for (const length of [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1_000]) {
    const bytes = Buffer.alloc(length, 7)
    for (let offset = 0; offset < 4; offset++) {
      const shifted = Buffer.concat([Buffer.alloc(offset), cipher.encrypt(bytes, '')]).subarray(offset)
      const decrypted = await cipher.decrypt(shifted, '')
      assert.deepEqual(Buffer.from(decrypted.value), bytes)
    }
  }
})

test('the XSalsa20 stream is independent of its length', () => {
  const textOf = (length: number): Uint8Array => seal(Buffer.alloc(length)).subarray(24 + 16)
  const long = textOf(1_000)
  for (const length of [1, 64, 65, 640]) assert.deepEqual(textOf(length), long.subarray(0, length))
})

test('Poly1305 matches RFC 8439 test vectors', () => {
  const check = (secret: string, message: string, tag: string): void => {
    assert.equal(Buffer.from(poly1305(hex(message), hex(secret))).toString('hex'), tag)
  }
  check(
    '85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b',
    Buffer.from('Cryptographic Forum Research Group').toString('hex'),
    'a8061dc1305136c6c22b8baf0c0127a9',
  )
  // Test vectors of appendix A.3 with sums close to the prime.
  const zeros = '00'.repeat(16)
  check(`02${zeros.slice(2)}${zeros}`, 'ff'.repeat(16), `03${zeros.slice(2)}`)
  check(`02${zeros.slice(2)}${'ff'.repeat(16)}`, `02${zeros.slice(2)}`, `03${zeros.slice(2)}`)
  const one = `01${zeros.slice(2)}${zeros}`
  check(one, `${'ff'.repeat(16)}f0${'ff'.repeat(15)}11${zeros.slice(2)}`, `05${zeros.slice(2)}`)
  check(one, `${'ff'.repeat(16)}fb${'fe'.repeat(15)}${'01'.repeat(16)}`, zeros)
  check(`02${zeros.slice(2)}${zeros}`, `fd${'ff'.repeat(15)}`, `fa${'ff'.repeat(15)}`)
})
