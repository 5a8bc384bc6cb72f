/** An in-process KMS plugin with trivial encryption that can be made to fail. */
import { map, message } from '#/base/protobuf.ts'
import { GrpcError, type GrpcConnect } from '#/platform/grpc.ts'
import {
  DecryptRequest,
  DecryptResponse,
  EncryptRequest,
  EncryptResponse,
  StatusResponse,
} from './kms-messages.ts'

export class TestKmsPlugin {
  keyId = 'key-1'
  healthz = 'ok'
  isUp = true
  readonly calls: string[] = []

  readonly connect: GrpcConnect = ({ targets }) => ({
    unary: async (method, request) => {
      this.calls.push(`${targets.join()} ${method.split('/').at(-1)}`)
      if (!this.isUp) throw new GrpcError('unavailable', 'nobody is there', { sent: false })
      switch (method) {
        case '/v2.KeyManagementService/Status':
          return StatusResponse.encode({ version: 'v2', healthz: this.healthz, keyId: this.keyId })
        case '/v2.KeyManagementService/Encrypt': {
          const { plaintext } = EncryptRequest.decode(request)
          const annotations = { 'a.example.com': Buffer.from('x') }
          const ciphertext = scramble(plaintext, this.keyId)
          return EncryptResponse.encode({ ciphertext, keyId: this.keyId, annotations })
        }
        case '/v2.KeyManagementService/Decrypt':
          return this.#decrypt(request)
        default:
          throw new GrpcError('unimplemented', method, { sent: true })
      }
    },
    stream: () => {
      throw new GrpcError('unimplemented', 'stream', { sent: false })
    },
    [Symbol.asyncDispose]: async () => undefined,
  })

  #decrypt(request: Uint8Array): Uint8Array {
    const { ciphertext, keyId, annotations } = DecryptRequest.decode(request)
    if (!keyId.startsWith('key-') || annotations['a.example.com'] === undefined) {
      throw new GrpcError('invalid-argument', 'no such key', { sent: true })
    }
    return DecryptResponse.encode({ plaintext: scramble(ciphertext, keyId) })
  }
}

function scramble(bytes: Uint8Array, keyId: string): Uint8Array {
  return bytes.map(byte => byte ^ keyId.charCodeAt(keyId.length - 1))
}

/** The stored message defined a second time, independently, to check the format. */
export const StoredForm = message({
  data: [1, 'bytes'],
  key: [2, 'string'],
  source: [3, 'bytes'],
  annotations: [4, map('string', 'bytes')],
  type: [5, 'int32'],
})
