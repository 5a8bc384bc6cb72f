/**
 * Follows only the secrets that Ingresses refer to, each by its name. A namespace with many of them is
 * followed as a whole, so that the number of watches stays small.
 */
import { secrets } from '#/api/generated/core/v1-resources.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'

export interface SecretWatchesOptions {
  readonly platform: Platform
  readonly client: Client
  readonly onChange: () => void
}

export class SecretWatches {
  readonly #options: SecretWatchesOptions
  /** By namespace, or namespace and name. */
  readonly #watches = new Map<string, Watch>()

  constructor(options: SecretWatchesOptions) {
    this.#options = options
  }

  get(namespace: string, name: string): Secret | undefined {
    const key = `${namespace}/${name}`
    return (this.#watches.get(key) ?? this.#watches.get(namespace))?.informer.get(key)
  }

  /** All secrets that are followed have been read. */
  get hasSynced(): boolean {
    return [...this.#watches.values()].every(({ informer }) => informer.hasSynced)
  }

  /** Follows these secrets from now on, and no others. */
  follow(keys: ReadonlySet<string>, signal: AbortSignal): void {
    const wanted = planSecretWatches(keys)
    for (const [key, { stopping }] of this.#watches) {
      if (wanted.has(key)) continue
      stopping.abort(new Error('no Ingress refers to the secret'))
      stopping[Symbol.dispose]()
      this.#watches.delete(key)
    }
    for (const key of wanted) {
      if (this.#watches.has(key) || signal.aborted) continue
      const stopping = new LinkedAbort(signal)
      const informer = this.#informerOf(key)
      this.#watches.set(key, { informer, stopping })
      informer.addEventHandler(() => this.#options.onChange())
      informer.waitForSync(stopping.signal).then(this.#options.onChange, () => undefined)
      void informer.run(stopping.signal)
    }
  }

  #informerOf(key: string): Informer<Secret> {
    const { platform, client } = this.#options
    const [namespace = '', name] = key.split('/')
    const selection = { namespace, ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }) }
    return new Informer<Secret>({ platform, client, resource: secrets, selection })
  }
}

interface Watch {
  readonly informer: Informer<Secret>
  readonly stopping: LinkedAbort
}

/** Above it all secrets of the namespace are followed. */
const watchesPerNamespaceMax = 10

export function planSecretWatches(keys: ReadonlySet<string>): ReadonlySet<string> {
  const byNamespace = Map.groupBy(keys, key => key.slice(0, key.indexOf('/')))
  const watches = [...byNamespace].flatMap(([namespace, own]) =>
    own.length > watchesPerNamespaceMax ? [namespace] : own,
  )
  return new Set(watches)
}
