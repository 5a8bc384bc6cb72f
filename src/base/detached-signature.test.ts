import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signDetached } from './detached-signature.ts'

test('a detached signature equals that of another implementation', () => {
  // kubeadm computes this signature itself and compares it with the one found in the cluster-info ConfigMap.
  const signature = signDetached('', { keyId: 'joshua', secret: 'my voice is my passcode' })
  const expected = 'eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..7Ui1ALizW4jXphVUB7xUqC9vLYLL9RZeOFfVLoB7Tgk'
  assert.equal(signature, expected)
})

test('a detached signature depends on text, name and secret', () => {
  const secret = { keyId: 'a', secret: 'b' }
  const all = [
    signDetached('text', secret),
    signDetached('text ', secret),
    signDetached('text', { ...secret, keyId: 'c' }),
    signDetached('text', { ...secret, secret: 'c' }),
    signDetached('', secret),
  ]
  assert.equal(new Set(all).size, all.length)
  assert.ok(all.every(each => /^[\w-]+\.\.[\w-]{43}$/.test(each)))
})
