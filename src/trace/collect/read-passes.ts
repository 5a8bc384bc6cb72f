import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { RawClient } from '#/client/client.ts'
import type { EndedPass } from '#/client/pass-log.ts'

export interface PassesQuery {
  readonly afterMs: number
  /** Nodes whose components may run in processes of their own. At most `nodesMax` are asked. */
  readonly nodes: readonly string[]
  readonly signal?: AbortSignal | undefined
}

export interface PassList {
  readonly passes: readonly EndedPass[]
  /** What could not be read. */
  readonly notes: readonly string[]
}

const nodesMax = 5

/** Passes that wrote nothing: of the components in the API server's process, and of those on nodes. */
export async function readPasses(
  client: RawClient,
  { afterMs, nodes, signal }: PassesQuery,
): Promise<PassList> {
  const read = (path: string): Promise<readonly EndedPass[]> => readList(client, path, { afterMs, signal })
  const notes: string[] = []
  const attempt = async (path: string, from: string): Promise<readonly EndedPass[]> => {
    try {
      return await read(path)
    } catch (error) {
      signal?.throwIfAborted()
      // A simulated node, or one of an older version, has no list.
      if (!isApiError(error, 'NotFound')) {
        const reason = isApiError(error, 'Forbidden') ? 'not permitted' : messageOf(error)
        notes.push(`passes of ${from} could not be read: ${reason}`)
      }
      return []
    }
  }
  const inProcess = await attempt('/k8ts/passes', 'service proxy and DNS')
  const known = new Set(inProcess.map(({ node }) => node))
  const remote = nodes.filter(node => !known.has(node)).slice(0, nodesMax)
  const others = await Promise.all(
    remote.map(node => {
      return attempt(`/api/v1/nodes/${encodeURIComponent(node)}/proxy/debug/passes`, `node ${node}`)
    }),
  )
  const passes = new Map([inProcess, ...others].flat().map(pass => [keyOf(pass), pass]))
  return { passes: [...passes.values()], notes }
}

interface ListQuery {
  readonly afterMs: number
  readonly signal: AbortSignal | undefined
}

async function readList(
  client: RawClient,
  path: string,
  { afterMs, signal }: ListQuery,
): Promise<readonly EndedPass[]> {
  const query = new URLSearchParams({ after: String(Math.floor(afterMs)) })
  const response = await client.raw({ method: 'GET', path, query, signal, timeoutMs: 10_000 })
  const value = (await response.value()) as JsonValue | undefined
  const passes = isRecord(value) && Array.isArray(value['passes']) ? value['passes'] : []
  return passes.filter(isPass) as unknown as EndedPass[]
}

function isPass(value: JsonValue): boolean {
  if (!isRecord(value)) return false
  const { component, key, causes, queuedMs, startedMs, endedMs, steps } = value
  return (
    [component, key].every(each => typeof each === 'string') &&
    [queuedMs, startedMs, endedMs].every(each => typeof each === 'number') &&
    Array.isArray(causes) &&
    Array.isArray(steps)
  )
}

function isRecord(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The API server of a node's own process and the kubelet of the node may both list a pass. */
function keyOf({ component, node = '', key, startedMs }: EndedPass): string {
  return JSON.stringify([component, node, key, startedMs])
}
