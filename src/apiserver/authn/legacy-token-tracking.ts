/** Records the last use of secret-based tokens in a label, so that unused tokens can be found and removed. */
import type { Secret } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Registry } from '../registry/registry.ts'
import { updateObject } from '../registry/update-object.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'

const lastUsed = 'kubernetes.io/legacy-token-last-used'

const dayMs = 24 * 3_600_000

export class LegacyTokenTracking {
  readonly #registry: Registry
  /** Uids of secrets with an update in progress; prevents concurrent updates of the same secret. */
  readonly #writing = new Set<string>()

  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** Updates in the background; authentication does not depend on the result. */
  recordUse({ metadata }: Stored<Secret>): void {
    const { uid, namespace = '', name, labels = {} } = metadata
    const nowMs = this.#registry.platform.clock.now()
    // Accepts tomorrow's date too: an API server with a clock ahead may have written it.
    const isNoted = [nowMs, nowMs + dayMs].some(ms => labels[lastUsed] === dayOf(ms))
    if (isNoted || this.#writing.has(uid)) return
    this.#writing.add(uid)
    void this.#write({ uid, namespace, name, day: dayOf(nowMs) }).finally(() => this.#writing.delete(uid))
  }

  async #write({
    uid,
    namespace,
    name,
    day,
  }: Record<'uid' | 'namespace' | 'name' | 'day', string>): Promise<void> {
    const resource = this.#registry.scheme.byKind({ group: '', version: 'v1', kind: 'Secret' })
    if (resource === undefined) return
    const request = {
      ...systemWriteRequest(resource, name, namespace),
      user: { username: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] },
      fieldManager: 'kube-apiserver',
    }
    try {
      await updateObject(this.#registry, request, {
        change: oldObject => {
          if (oldObject.metadata.uid !== uid) return oldObject
          return {
            ...oldObject,
            metadata: { ...oldObject.metadata, labels: { ...oldObject.metadata.labels, [lastUsed]: day } },
          }
        },
      })
    } catch (error) {
      const { log } = this.#registry.platform
      log.warn('failed to update last-used label of legacy token secret', { namespace, name, error })
    }
  }
}

function dayOf(milliseconds: number): string {
  return formatTime(milliseconds).slice(0, 'yyyy-mm-dd'.length)
}
