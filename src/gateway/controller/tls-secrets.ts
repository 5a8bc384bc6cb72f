/**
 * Follows Secrets of type `kubernetes.io/tls` in the namespaces that have certificates of Gateways, and no
 * others. The number of watches is limited by that of the namespaces, not by that of the references, which
 * users choose.
 */
import { LinkedAbort } from '#/base/abort.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import { parseKey, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'

export interface TlsSecretsOptions {
  readonly platform: Platform
  readonly client: Client
  /** Called after every change of `get` and of `hasSynced`. */
  readonly onChange: () => void
}

/** Maximum number of namespaces. Secrets of further namespaces are not found. */
const namespacesMax = 1_000

export class TlsSecrets {
  readonly #options: TlsSecretsOptions
  readonly #namespaces = new Map<
    string,
    { readonly informer: Informer<Secret>; readonly abort: LinkedAbort }
  >()
  readonly #runs = new Set<Promise<void>>()
  #hasWarned = false

  constructor(options: TlsSecretsOptions) {
    this.#options = options
  }

  get hasSynced(): boolean {
    return [...this.#namespaces.values()].every(({ informer }) => informer.hasSynced)
  }

  get(key: string): Stored<Secret> | undefined {
    return this.#namespaces.get(parseKey(key).namespace ?? '')?.informer.get(key)
  }

  /** Follows the namespaces of these keys until aborted, and stops to follow others. */
  follow(keys: ReadonlySet<string>, signal: AbortSignal): void {
    const wanted = new Set([...keys].map(key => parseKey(key).namespace ?? ''))
    for (const [namespace, { abort }] of this.#namespaces) {
      if (wanted.has(namespace)) continue
      abort.abort(new Error('no Gateway refers to Secrets of the namespace'))
      abort[Symbol.dispose]()
      this.#namespaces.delete(namespace)
    }
    for (const namespace of wanted) {
      if (this.#namespaces.has(namespace)) continue
      if (this.#namespaces.size >= namespacesMax) return this.#warn(namespace)
      this.#start(namespace, signal)
    }
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#runs)
  }

  #start(namespace: string, signal: AbortSignal): void {
    const { platform, client, onChange } = this.#options
    const selection = { namespace, fieldSelector: 'type=kubernetes.io/tls' }
    const informer = new Informer({ platform, client, resource: secrets, selection })
    const abort = new LinkedAbort(signal)
    informer.addEventHandler(() => onChange())
    this.#namespaces.set(namespace, { informer, abort })
    const running = informer.run(abort.signal).finally(() => this.#runs.delete(running))
    this.#runs.add(running)
    informer.waitForSync(abort.signal).then(onChange, () => undefined)
  }

  #warn(namespace: string): void {
    const { log } = this.#options.platform
    if (!this.#hasWarned)
      log.warn('Too many namespaces with certificates of Gateways', { namespace, namespacesMax })
    this.#hasWarned = true
  }
}
