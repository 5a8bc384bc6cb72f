/** A KMS plugin: a gRPC server on a unix socket, with keys that never leave it. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Metadata, Server, ServerCredentials, status, type UntypedHandleCall } from '@grpc/grpc-js'
import { map, message } from '#/base/protobuf.ts'

const StatusResponse = message({ version: [1, 'string'], healthz: [2, 'string'], keyId: [3, 'string'] })
const EncryptRequest = message({ plaintext: [1, 'bytes'], uid: [2, 'string'] })
const EncryptResponse = message({
  ciphertext: [1, 'bytes'],
  keyId: [2, 'string'],
  annotations: [3, map('string', 'bytes')],
})
const DecryptRequest = message({ ciphertext: [1, 'bytes'], uid: [2, 'string'], keyId: [3, 'string'] })
const DecryptResponse = message({ plaintext: [1, 'bytes'] })

export class KeyServicePlugin implements AsyncDisposable {
  readonly #server = new Server()
  readonly #keys = new Map([['first', randomBytes(32)]])
  /** Number of calls of each method. */
  readonly calls = { Status: 0, Encrypt: 0, Decrypt: 0 }

  static async start(path: string): Promise<KeyServicePlugin> {
    const plugin = new KeyServicePlugin()
    const bytes = (value: Buffer): Buffer => value
    const methods = Object.entries(plugin.#methods).map(([name, answer]) => {
      const kind = { requestStream: false, responseStream: false }
      const form = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes }
      const definition = {
        path: `/v2.KeyManagementService/${name}`,
        ...kind,
        ...form,
        responseDeserialize: bytes,
      }
      const handle = (
        { request }: { request: Buffer },
        reply: (error: unknown, value?: Buffer) => void,
      ): void => {
        plugin.calls[name as keyof typeof plugin.calls]++
        try {
          reply(null, Buffer.from(answer(request)))
        } catch (error) {
          reply({ code: status.INVALID_ARGUMENT, details: String(error), metadata: new Metadata() })
        }
      }
      return [name, definition, handle as UntypedHandleCall] as const
    })
    plugin.#server.addService(
      Object.fromEntries(methods.map(([name, definition]) => [name, definition])),
      Object.fromEntries(methods.map(([name, , handle]) => [name, handle])),
    )
    await new Promise<void>((resolve, reject) => {
      plugin.#server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), error => {
        if (error) reject(error)
        else resolve()
      })
    })
    return plugin
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
  }

  readonly #methods: Readonly<Record<keyof KeyServicePlugin['calls'], (request: Uint8Array) => Uint8Array>> =
    {
      Status: () => StatusResponse.encode({ version: 'v2', healthz: 'ok', keyId: 'first' }),
      Encrypt: request => {
        const { plaintext } = EncryptRequest.decode(request)
        const nonce = randomBytes(12)
        const cipher = createCipheriv('aes-256-gcm', this.#keys.get('first')!, nonce)
        const sealed = Buffer.concat([cipher.update(plaintext), cipher.final()])
        const ciphertext = Buffer.concat([nonce, cipher.getAuthTag(), sealed])
        return EncryptResponse.encode({ ciphertext, keyId: 'first', annotations: {} })
      },
      Decrypt: request => {
        const { ciphertext, keyId } = DecryptRequest.decode(request)
        const decipher = createDecipheriv('aes-256-gcm', this.#keys.get(keyId)!, ciphertext.subarray(0, 12))
        decipher.setAuthTag(ciphertext.subarray(12, 28))
        const plaintext = Buffer.concat([decipher.update(ciphertext.subarray(28)), decipher.final()])
        return DecryptResponse.encode({ plaintext })
      },
    }
}
