import { isApiError } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import type { Client, ListOptions } from '#/client/client.ts'
import { messageOf } from '#/base/message-of.ts'
import { readAll } from '#/base/read-all.ts'
import { objectPath } from '#/client/resource-path.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Listed } from './snapshot.ts'

/** Of each kind. More are not read, and `unread` says so. */
const objectsMax = 2_000
const logLinesMax = 20
const logBytesMax = 16_384

/** Reads objects and logs. What may not be read, or cannot be, is noted instead of failing. */
export class ClusterReader {
  readonly #client: Client
  readonly #signal: AbortSignal | undefined
  readonly #unread = new Set<string>()

  constructor(client: Client, signal?: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  get unread(): readonly string[] {
    return [...this.#unread]
  }

  async list<T extends KubernetesObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<Listed<T>> {
    const isEverywhere = resource.scope === 'Namespaced' && options.namespace === undefined
    const name = `${qualifiedResourceName(resource)}${isEverywhere ? ' in all namespaces' : ''}`
    try {
      const list = await this.#client.list(resource, {
        ...options,
        limit: options.limit ?? objectsMax,
        signal: this.#signal,
      })
      if (list.metadata.continue) this.#unread.add(`${name}: only the first ${list.items.length} were read`)
      return list.items
    } catch (error) {
      this.#note(name, error)
      return undefined
    }
  }

  /** Undefined if it does not exist or may not be read. */
  async find<T extends KubernetesObject>(
    resource: Resource<T>,
    at: { readonly namespace?: string | undefined; readonly name: string },
  ): Promise<Awaited<ReturnType<Client['find']>> | 'missing'> {
    try {
      return (await this.#client.find<KubernetesObject>(resource, at, { signal: this.#signal })) ?? 'missing'
    } catch (error) {
      this.#note(`${qualifiedResourceName(resource)} ${at.name}`, error)
      return undefined
    }
  }

  async log({ namespace, pod, container, previous }: LogSource): Promise<readonly string[] | undefined> {
    try {
      const response = await this.#client.raw({
        method: 'GET',
        path: objectPath(pods, { namespace, name: pod, subresource: 'log' }),
        query: new URLSearchParams({
          container,
          tailLines: String(logLinesMax),
          limitBytes: String(logBytesMax),
          ...(previous && { previous: 'true' }),
        }),
        signal: this.#signal,
        timeoutMs: 10_000,
      })
      const text = (await readAll(response.bytes(), logBytesMax * 2)).toString()
      return text.split('\n').filter(line => line.trim() !== '')
    } catch (error) {
      this.#note(`log of container ${container} of pod ${pod}`, error)
      return undefined
    }
  }

  #note(what: string, error: unknown): void {
    this.#signal?.throwIfAborted()
    if (isApiError(error, 'Unauthorized')) throw error
    const reason = isApiError(error, 'Forbidden') ? 'not permitted' : messageOf(error)
    this.#unread.add(`${what}: ${reason}`)
  }
}

interface LogSource {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  /** Reads the log of the instance before the last restart. */
  readonly previous: boolean
}
