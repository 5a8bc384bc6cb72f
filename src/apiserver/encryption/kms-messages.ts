/** Messages of the KMS v2 API, and the stored form of envelope-encrypted values. */
import { map, message, type MessageOf } from '#/base/protobuf.ts'

export const StatusRequest = message({})

export const StatusResponse = message({
  version: [1, 'string'],
  healthz: [2, 'string'],
  keyId: [3, 'string'],
})

export const EncryptRequest = message({ plaintext: [1, 'bytes'], uid: [2, 'string'] })

export const EncryptResponse = message({
  ciphertext: [1, 'bytes'],
  keyId: [2, 'string'],
  annotations: [3, map('string', 'bytes')],
})

export const DecryptRequest = message({
  ciphertext: [1, 'bytes'],
  uid: [2, 'string'],
  keyId: [3, 'string'],
  annotations: [4, map('string', 'bytes')],
})

export const DecryptResponse = message({ plaintext: [1, 'bytes'] })

export const EncryptedObject = message({
  encryptedData: [1, 'bytes'],
  keyId: [2, 'string'],
  /** Encrypted by the KMS plugin. */
  encryptedDekSource: [3, 'bytes'],
  annotations: [4, map('string', 'bytes')],
  encryptedDekSourceType: [5, 'int32'],
})

export type EncryptedObject = MessageOf<typeof EncryptedObject>

/**
 * The type of `encryptedDekSource`: the data encryption key itself, or a seed from which each value's key is
 * derived.
 */
export const dekSourceTypes = { key: 0, seed: 1 } as const
