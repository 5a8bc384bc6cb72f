/** Client of a KMS v2 plugin, a local process that holds the key encryption key. */
import type { GrpcChannel, GrpcConnect } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  DecryptRequest,
  DecryptResponse,
  EncryptRequest,
  EncryptResponse,
  StatusRequest,
  StatusResponse,
} from './kms-messages.ts'

export interface KmsPluginOptions {
  readonly platform: Platform
  readonly connect: GrpcConnect
  readonly name: string
  /** E.g. `unix:///run/kms.sock`. */
  readonly endpoint: string
  readonly timeoutMs: number
}

export interface EncryptedDek {
  readonly ciphertext: Uint8Array
  readonly keyId: string
  readonly annotations: Readonly<Record<string, Uint8Array>>
}

const service = '/v2.KeyManagementService'

/** Rejects with GrpcError if the call fails, and with Error if the response is invalid. */
export class KmsPlugin implements AsyncDisposable {
  readonly #options: KmsPluginOptions
  readonly #channel: GrpcChannel

  constructor(options: KmsPluginOptions) {
    this.#options = options
    const target = `unix:${options.endpoint.slice('unix://'.length)}`
    this.#channel = options.connect({ targets: [target], receivedBytesMax: answerBytesMax })
  }

  /** The current key id. Rejects if the service is unhealthy. */
  async status(): Promise<string> {
    const { version, healthz, keyId } = StatusResponse.decode(
      await this.#call('Status', StatusRequest.encode({})),
    )
    if (version !== 'v2' && version !== 'v2beta1')
      throw new Error(`unsupported KMS API version ${show(version)}`)
    if (healthz !== 'ok') throw new Error(`KMS plugin unhealthy: ${show(healthz)}`)
    checkKeyId(keyId)
    return keyId
  }

  async encrypt(plaintext: Uint8Array): Promise<EncryptedDek> {
    const request = EncryptRequest.encode({ plaintext, uid: this.#uid() })
    const { ciphertext, keyId, annotations } = EncryptResponse.decode(await this.#call('Encrypt', request))
    checkKeyId(keyId)
    if (ciphertext.length === 0 || ciphertext.length > wrappedBytesMax) {
      throw new Error(`KMS plugin returned a ciphertext of invalid length ${ciphertext.length}`)
    }
    const sizes = Object.entries(annotations).map(([name, value]) => name.length + value.length)
    if (sizes.reduce((sum, size) => sum + size, 0) > annotationBytesMax) {
      throw new Error('KMS plugin returned annotations that are too large')
    }
    return { ciphertext, keyId, annotations }
  }

  async decrypt({ ciphertext, keyId, annotations }: EncryptedDek): Promise<Uint8Array> {
    const request = DecryptRequest.encode({ ciphertext, keyId, annotations, uid: this.#uid() })
    return DecryptResponse.decode(await this.#call('Decrypt', request)).plaintext
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#channel[Symbol.asyncDispose]()
  }

  #call(method: string, request: Uint8Array): Promise<Uint8Array> {
    return this.#channel.unary(`${service}/${method}`, request, { timeoutMs: this.#options.timeoutMs })
  }

  #uid(): string {
    return this.#options.platform.random.uuid('KMS request')
  }
}

/** Limits of the KMS v2 API. */
const keyIdBytesMax = 1_024
const wrappedBytesMax = 1_024
const annotationBytesMax = 32 * 1_024

/** Maximum response size, well above the limits of the API. */
const answerBytesMax = 128 * 1_024

function checkKeyId(keyId: string): void {
  const length = Buffer.byteLength(keyId)
  if (length === 0 || length > keyIdBytesMax)
    throw new Error(`KMS plugin returned a key id of invalid length ${length}`)
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 200))
}
