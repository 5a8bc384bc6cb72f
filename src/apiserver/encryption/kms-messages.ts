/** The API of key services, version 2, and what is stored of a value that is encrypted with their help. */
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
  /** Encrypted by the key service. */
  encryptedDekSource: [3, 'bytes'],
  annotations: [4, map('string', 'bytes')],
  encryptedDekSourceType: [5, 'int32'],
})

export type EncryptedObject = MessageOf<typeof EncryptedObject>

/** The key service has encrypted the key itself, or a seed from which each value has a key of its own. */
export const dekSourceTypes = { key: 0, seed: 1 } as const
