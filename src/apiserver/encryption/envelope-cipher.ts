/**
 * Envelope encryption (KMS v2): values are encrypted with a seed, which is stored next to them, encrypted by
 * the KMS plugin. The plugin is called at startup, on key rotation, and for seeds not in the cache.
 * https://kubernetes.io/docs/tasks/administer-cluster/kms-provider/
 */
import { createHash, createSecretKey } from 'node:crypto'
import { LruMap } from '#/base/lru-map.ts'
import { ProtobufError } from '#/base/protobuf.ts'
import { GrpcError, type GrpcCode } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import { aesGcm } from './aes.ts'
import { DecryptionError, type Cipher, type Decrypted, type StoreKey, type RandomBytes } from './cipher.ts'
import type { KmsPlugin, EncryptedDek } from './kms-plugin.ts'
import { dekSourceTypes, EncryptedObject } from './kms-messages.ts'
import { seedBytes, seededGcm } from './aes.ts'

export class EnvelopeCipher implements Cipher {
  readonly #platform: Platform
  readonly #plugin: KmsPlugin
  readonly #random: RandomBytes
  #current: CurrentSeed | undefined
  /** Error of the last status call; undefined if it succeeded. */
  #failure: unknown = new Error('KMS plugin has not been polled yet')
  /** Decrypted seeds, by hash of their encrypted form. */
  readonly #opened = new LruMap<string, Cipher>(openedMax)
  readonly #opening = new Map<string, Promise<Cipher>>()

  constructor(platform: Platform, plugin: KmsPlugin) {
    this.#platform = platform
    this.#plugin = plugin
    this.#random = length => platform.random.bytes('envelope encryption', length)
  }

  /** Throws if the last status call failed. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Polls the key id of the service and generates a new seed if it has changed. */
  async refresh(): Promise<void> {
    try {
      const keyId = await this.#plugin.status()
      const expiresMs = this.#platform.clock.monotonicMs() + seedMsMax
      if (this.#current?.encryptedDek.keyId === keyId) this.#current = { ...this.#current, expiresMs }
      else this.#current = await this.#newSeed(expiresMs)
      this.#failure = undefined
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  async #newSeed(expiresMs: number): Promise<CurrentSeed> {
    const seed = this.#random(seedBytes)
    const encryptedDek = await this.#plugin.encrypt(seed)
    const cipher = seededGcm(createSecretKey(seed), this.#random)
    this.#opened.set(nameOf(encryptedDek, dekSourceTypes.seed), cipher)
    return { encryptedDek, cipher, expiresMs }
  }

  encrypt(value: Uint8Array, storeKey: StoreKey): Uint8Array {
    const current = this.#current
    if (current === undefined || current.expiresMs < this.#platform.clock.monotonicMs()) {
      const text = 'KMS plugin unavailable for too long, encryption is disabled'
      throw new Error(text, { cause: this.#failure })
    }
    return EncryptedObject.encode({
      encryptedData: current.cipher.encrypt(value, storeKey),
      keyId: current.encryptedDek.keyId,
      encryptedDekSource: current.encryptedDek.ciphertext,
      annotations: current.encryptedDek.annotations,
      encryptedDekSourceType: dekSourceTypes.seed,
    })
  }

  decrypt(stored: Uint8Array, storeKey: StoreKey): Decrypted | Promise<Decrypted> {
    const object = decode(stored)
    const { keyId, annotations, encryptedDekSource: ciphertext, encryptedDekSourceType: type } = object
    const open = (cipher: Cipher): Decrypted | Promise<Decrypted> =>
      cipher.decrypt(object.encryptedData, storeKey)
    const aged = (decrypted: Decrypted): Decrypted => {
      const isStale = keyId !== this.#current?.encryptedDek.keyId || type !== dekSourceTypes.seed
      return isStale ? { ...decrypted, isStale } : decrypted
    }
    const name = nameOf({ ciphertext, keyId, annotations }, type)
    const known = this.#opened.get(name)
    if (known === undefined) {
      return this.#decryptDek(name, { ciphertext, keyId, annotations }, type).then(open).then(aged)
    }
    const decrypted = open(known)
    return decrypted instanceof Promise ? decrypted.then(aged) : aged(decrypted)
  }

  /** Concurrent requests for the same seed share one call. */
  #decryptDek(name: string, encryptedDek: EncryptedDek, type: number): Promise<Cipher> {
    const opening = this.#opening.get(name)
    if (opening) return opening
    const opened = this.#plugin
      .decrypt(encryptedDek)
      .then(
        bytes => {
          const cipher = cipherOf(bytes, type, this.#random)
          this.#opened.set(name, cipher)
          return cipher
        },
        (error: unknown) => {
          if (error instanceof GrpcError && passing.has(error.code)) throw error
          throw new DecryptionError('KMS plugin failed to decrypt the DEK', { cause: error })
        },
      )
      .finally(() => this.#opening.delete(name))
    this.#opening.set(name, opened)
    return opened
  }
}

interface CurrentSeed {
  readonly encryptedDek: EncryptedDek
  readonly cipher: Cipher
  /** The seed is not used for encryption after this time unless the service was healthy in between. */
  readonly expiresMs: number
}

const seedMsMax = 180_000

/**
 * Maximum number of cached decrypted seeds; an evicted one is decrypted again. Each server start creates one
 * seed.
 */
const openedMax = 1_000

/** Transient errors, which do not mean that the value is damaged. */
const passing: ReadonlySet<GrpcCode> = new Set([
  'unavailable',
  'deadline-exceeded',
  'cancelled',
  'resource-exhausted',
  'aborted',
])

function cipherOf(bytes: Uint8Array, type: number, random: RandomBytes): Cipher {
  if (type === dekSourceTypes.seed && bytes.length >= seedBytes)
    return seededGcm(createSecretKey(bytes), random)
  if (type === dekSourceTypes.key && [16, 24, 32].includes(bytes.length))
    return aesGcm(createSecretKey(bytes), random)
  throw new DecryptionError('KMS plugin returned a DEK of invalid length')
}

function decode(stored: Uint8Array): EncryptedObject {
  try {
    return EncryptedObject.decode(stored)
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause
    throw new DecryptionError('cannot decode encrypted object', { cause })
  }
}

function nameOf({ ciphertext, keyId, annotations }: EncryptedDek, type: number): string {
  const sorted = Object.fromEntries(
    Object.entries(annotations).sort(([left], [right]) => (left < right ? -1 : 1)),
  )
  const bytes = EncryptedObject.encode({
    encryptedData: new Uint8Array(),
    keyId,
    encryptedDekSource: ciphertext,
    annotations: sorted,
    encryptedDekSourceType: type,
  })
  return createHash('sha256').update(bytes).digest('base64')
}
