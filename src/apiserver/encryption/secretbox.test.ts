import assert from 'node:assert/strict'
import { test } from 'node:test'
import { poly1305 } from './poly1305.ts'
import { openBox, sealBox } from './secretbox.ts'
import { xsalsa20 } from './salsa20.ts'

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

test('secretbox matches NaCl test vectors', () => {
  assert.deepEqual(Buffer.from(sealBox(key, nonce, value)), box)
  assert.deepEqual(Buffer.from(openBox(key, nonce, box)!), value)
})

test('secretbox rejects a box with a flipped bit', () => {
  for (let bit = 0; bit < 8 * box.length; bit += 7) {
    const changed = Buffer.from(box)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    assert.equal(openBox(key, nonce, changed), undefined)
  }
  assert.equal(openBox(Buffer.alloc(32), nonce, box), undefined)
  assert.equal(openBox(key, Buffer.alloc(24), box), undefined)
})

test('secretbox round-trips values of any length', () => {
  for (const length of [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1_000]) {
    const bytes = Buffer.alloc(length, 7)
    assert.deepEqual(Buffer.from(openBox(key, nonce, sealBox(key, nonce, bytes))!), bytes)
  }
})

test('the XSalsa20 stream is independent of its length', () => {
  const long = xsalsa20(key, nonce, 1_000)
  for (const length of [1, 64, 65, 640])
    assert.deepEqual(xsalsa20(key, nonce, length), long.subarray(0, length))
})

test('Poly1305 matches RFC 8439 test vectors', () => {
  const check = (secret: string, message: string, tag: string): void => {
    assert.equal(Buffer.from(poly1305(hex(secret), hex(message))).toString('hex'), tag)
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
