import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecryptionError, type Cipher } from '../encryption/cipher.ts'
import { ValueEncryption } from './value-encryption.ts'

const plain = Buffer.from('{"data":"hidden"}')
const marked = Buffer.from('k8s:enc:test:')

const cipher: Cipher = {
  encrypt: value => Buffer.concat([marked, Buffer.from(value).map(byte => byte ^ 1)]),
  decrypt: stored => {
    if (!Buffer.from(stored).subarray(0, marked.length).equals(marked)) throw new DecryptionError('other key')
    return { value: Buffer.from(stored.subarray(marked.length)).map(byte => byte ^ 1), isStale: false }
  },
}

const failing: Cipher = {
  ...cipher,
  encrypt: () => {
    throw new Error('no key service')
  },
}

test('a value is recorded encrypted or not at all, and read if a key decrypts it', async () => {
  const warnings: string[] = []
  const values = new ValueEncryption({
    cipherFor: key => (key === 'secret' ? cipher : key === 'failing' ? failing : undefined),
    log: { warn: (_key, message) => void warnings.push(message) },
  })
  const sealed = values.seal('secret', plain)
  assert.ok(!Buffer.from(sealed).includes('hidden'))
  const read = async (key: string, value: Uint8Array): Promise<string | undefined> => {
    const opened = await values.open(key, value)
    return opened && Buffer.from(opened).toString()
  }
  assert.equal(await read('secret', sealed), plain.toString())
  assert.equal(values.seal('pod', plain), plain)
  assert.equal(await read('pod', plain), plain.toString())
  assert.equal(await read('secret', plain), plain.toString(), 'recorded before encryption was configured')
  assert.deepEqual(warnings, [])
  assert.equal(values.seal('failing', plain).length, 0)
  assert.equal(await read('secret', Buffer.from('k8s:enc:other:x')), undefined)
  assert.equal(await read('secret', new Uint8Array()), undefined)
  assert.equal(await read('pod', sealed), undefined, 'encryption is no longer configured')
  assert.equal(warnings.length, 3)
})
