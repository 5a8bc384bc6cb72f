/** Selects the cipher of each store key from the configuration, and manages the KMS plugins. */
import { qualifiedResourceName } from '#/api/resource.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import type { HealthCheck } from '../health.ts'
import type { StorageMetrics } from '../metrics/storage.ts'
import { resourcePrefixOf } from '../registry/store-keys.ts'
import { aesCbc, aesGcm } from './aes.ts'
import type { Cipher, RandomBytes } from './cipher.ts'
import { parseEncryptionConfiguration, type ProviderConfiguration } from './configuration.ts'
import { EnvelopeCipher } from './envelope-cipher.ts'
import { KmsPlugin } from './kms-plugin.ts'
import {
  encryptedPrefix,
  identity,
  ProviderChain,
  type Provider,
  type RecordTransformation,
} from './provider-chain.ts'
import { includesResource, resourceOfPrefix } from './resource-names.ts'
import { secretbox } from './secretbox.ts'

export interface ResourceCiphersOptions {
  readonly platform: Platform
  readonly connect: GrpcConnect
  /** Content of the `EncryptionConfiguration` file. */
  readonly configuration: string
  /** Aborts waiting for a KMS plugin. */
  readonly signal?: AbortSignal
  readonly metrics?: StorageMetrics
}

export class ResourceCiphers implements AsyncDisposable {
  readonly #platform: Platform
  readonly #connect: GrpcConnect
  readonly #metrics: StorageMetrics | undefined
  #active: Active = { lists: [], envelopes: [], services: [] }
  /** Cached ciphers by key prefix of the resource. */
  readonly #ciphers = new Map<string, Cipher | undefined>()

  private constructor({ platform, connect, metrics }: ResourceCiphersOptions) {
    this.#metrics = metrics
    this.#platform = platform
    this.#connect = connect
  }

  /**
   * Waits until every KMS plugin is available, because nothing can be read without it. Rejects if the
   * configuration is invalid.
   */
  static async open(options: ResourceCiphersOptions): Promise<ResourceCiphers> {
    const encryption = new ResourceCiphers(options)
    await encryption.change(options.configuration, options.signal)
    return encryption
  }

  /** Switches to a new configuration. Rejects and keeps the current one if the new one is invalid. */
  async change(configuration: string, signal?: AbortSignal): Promise<void> {
    const next = this.#build(configuration)
    try {
      for (const envelope of next.envelopes) await this.#waitFor(envelope, signal)
    } catch (error) {
      await close(next)
      throw error
    }
    const before = this.#active
    this.#active = next
    this.#ciphers.clear()
    await close(before)
  }

  /** Undefined if no configured resource matches the key. */
  cipherFor(key: string): Cipher | undefined {
    const prefix = resourcePrefixOf(key)
    if (prefix === undefined) return undefined
    if (this.#ciphers.has(prefix)) return this.#ciphers.get(prefix)
    const resource = resourceOfPrefix(prefix)
    const { lists } = this.#active
    const found =
      resource && lists.find(list => list.resources.some(name => includesResource(name, resource)))
    if (this.#ciphers.size >= prefixesMax) this.#ciphers.clear()
    this.#ciphers.set(prefix, found?.chain)
    return found?.chain
  }

  /** The kms-providers health check for `/healthz` and `/readyz`. */
  get healthChecks(): readonly HealthCheck[] {
    if (this.#active.envelopes.length === 0) return []
    const check = (): void => {
      for (const envelope of this.#active.envelopes) envelope.check()
    }
    return [{ name: 'kms-providers', endpoints: ['healthz', 'readyz'], check }]
  }

  /** Polls the KMS plugins for key rotation. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform
    let delayMs = healthyDelayMs
    while (!signal.aborted) {
      await clock.sleep(delayMs, signal).catch(() => undefined)
      if (signal.aborted) return
      delayMs = healthyDelayMs
      for (const envelope of this.#active.envelopes) {
        try {
          await envelope.refresh()
        } catch (error) {
          delayMs = unhealthyDelayMs
          log.warn('KMS plugin unhealthy', { error })
        }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await close(this.#active)
  }

  #build(configuration: string): Active {
    const envelopes: EnvelopeCipher[] = []
    const services: KmsPlugin[] = []
    const random: RandomBytes = length => this.#platform.random.bytes('encryption at rest', length)
    const providersOf = (provider: ProviderConfiguration): readonly Provider[] => {
      if (provider.type === 'identity') return [{ prefix: '', cipher: identity }]
      if (provider.type === 'kms') {
        const service = new KmsPlugin({ platform: this.#platform, connect: this.#connect, ...provider })
        const envelope = new EnvelopeCipher(this.#platform, service)
        services.push(service)
        envelopes.push(envelope)
        return [{ prefix: `${encryptedPrefix}kms:v2:${provider.name}:`, cipher: envelope }]
      }
      return provider.keys.map(({ name, key }) => ({
        prefix: `${encryptedPrefix}${provider.type}:v1:${name}:`,
        cipher: ciphers[provider.type](key, random),
      }))
    }
    const lists = parseEncryptionConfiguration(configuration).map(({ resources, providers }) => ({
      resources,
      chain: new ProviderChain(providers.flatMap(providersOf), this.#record),
    }))
    return { lists, envelopes, services }
  }

  readonly #record: RecordTransformation = (type, prefix, storeKey) => {
    const { clock } = this.#platform
    const startedMs = clock.monotonicMs()
    return status => {
      const resource = resourceOfPrefix(resourcePrefixOf(storeKey) ?? '')
      const seconds = (clock.monotonicMs() - startedMs) / 1_000
      const name = resource ? qualifiedResourceName(resource) : ''
      this.#metrics?.recordTransformation({ type, prefix, resource: name, status, seconds })
    }
  }

  async #waitFor(envelope: EnvelopeCipher, signal: AbortSignal | undefined): Promise<void> {
    const { clock, log } = this.#platform
    for (;;) {
      try {
        await envelope.refresh()
        return
      } catch (error) {
        signal?.throwIfAborted()
        log.warn('waiting for KMS plugin', { error })
        await clock.sleep(waitingDelayMs, signal)
      }
    }
  }
}

const healthyDelayMs = 60_000
const unhealthyDelayMs = 10_000
const waitingDelayMs = 1_000

/** Maximum number of cached prefixes; there are about as many as resources. */
const prefixesMax = 10_000

const ciphers = { aesgcm: aesGcm, aescbc: aesCbc, secretbox } as const

interface Active {
  readonly lists: readonly { readonly resources: readonly string[]; readonly chain: Cipher }[]
  readonly envelopes: readonly EnvelopeCipher[]
  readonly services: readonly KmsPlugin[]
}

async function close({ services }: Active): Promise<void> {
  for (const service of services) await service[Symbol.asyncDispose]()
}
