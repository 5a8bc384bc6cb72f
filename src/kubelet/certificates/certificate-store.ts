/**
 * The current key and certificate of a kubelet, in one PEM file `NAME-TIMESTAMP.pem` with the link
 * `NAME-current.pem`, as the kubelet of Kubernetes keeps them. Both are replaced in one step, so that after a crash
 * the key always belongs to the certificate.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

/** PEM encoded. */
export interface KeyAndCertificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateStoreOptions {
  readonly platform: Pick<Platform, 'clock' | 'files'>
  readonly linux: Pick<Linux, 'files'>
  readonly folder: string
  /** `kubelet-client` or `kubelet-server`. */
  readonly name: string
}

export class CertificateStore {
  /** The link to the current file. */
  readonly currentPath: string
  readonly #options: CertificateStoreOptions
  readonly #pendingKeyPath: string

  constructor(options: CertificateStoreOptions) {
    this.#options = options
    this.currentPath = this.#pathOf('current.pem')
    this.#pendingKeyPath = join(options.folder, `${options.name}.key.tmp`)
  }

  /** Undefined if there is no readable pair. */
  async current(): Promise<KeyAndCertificate | undefined> {
    const text = await this.#read(this.currentPath)
    return text === undefined ? undefined : splitPem(text)
  }

  /** Makes the pair the current one. A crash leaves either the old pair or the new. */
  async update({ cert, key }: KeyAndCertificate): Promise<void> {
    const { platform, linux } = this.#options
    await this.#makeFolder()
    const timestamp = new Date(platform.clock.now()).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-')
    const name = `${this.#options.name}-${timestamp}.pem`
    await platform.files.write(join(this.#options.folder, name), `${cert.trim()}\n${key.trim()}\n`, {
      mode: 0o600,
    })
    const updated = this.#pathOf('updated.pem')
    await linux.files.removeTree(updated)
    await linux.files.symlink(name, updated)
    await platform.files.rename(updated, this.currentPath)
  }

  /** The key of a request that is not completed. */
  pendingKey(): Promise<string | undefined> {
    return this.#read(this.#pendingKeyPath)
  }

  async setPendingKey(key: string): Promise<void> {
    await this.#makeFolder()
    await this.#options.platform.files.write(this.#pendingKeyPath, key, { mode: 0o600 })
  }

  async removePendingKey(): Promise<void> {
    await this.#options.platform.files.remove(this.#pendingKeyPath)
  }

  #makeFolder(): Promise<void> {
    const { platform, folder } = this.#options
    return platform.files.makeFolder(folder, { mode: 0o700 })
  }

  #pathOf(ending: string): string {
    return join(this.#options.folder, `${this.#options.name}-${ending}`)
  }

  async #read(path: string): Promise<string | undefined> {
    const { platform, linux } = this.#options
    if ((await linux.files.stat(path)) === undefined) return undefined
    return Buffer.from(await platform.files.read(await linux.files.realPath(path))).toString()
  }
}

/** The first private key and all certificates; undefined if the text has none that belong together. */
export function splitPem(text: string): KeyAndCertificate | undefined {
  const blocks = text.match(/-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g) ?? []
  const certificates = blocks.filter(block => block.startsWith('-----BEGIN CERTIFICATE-----'))
  const key = blocks.find(block => block.includes('PRIVATE KEY-----'))
  if (certificates.length === 0 || key === undefined) return undefined
  const pair = { cert: `${certificates.join('\n')}\n`, key: `${key}\n` }
  return isPair(pair) ? pair : undefined
}

export function isPair({ cert, key }: KeyAndCertificate): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
