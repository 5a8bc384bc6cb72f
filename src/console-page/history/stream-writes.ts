import type { RetainedSince } from '#/api/object-history.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import { apiErrorOfStatus, type Status } from '../data/api-error.ts'
import { streamApi } from '../data/api-stream.ts'
import { LineSplitter } from '../data/line-splitter.ts'

export interface WritesQuery {
  /** Exclusive. */
  readonly after?: number
  readonly sinceMs?: number
  readonly namespace?: string
  readonly limit?: number
  readonly follow?: boolean
  readonly signal: AbortSignal
}

/** The first line of the stream. */
export interface WritesHeader {
  readonly retainedSince: RetainedSince
  /** The current revision. */
  readonly revision: number
}

export type WritesBatch =
  | { readonly header: WritesHeader }
  /** Oldest first. */
  | { readonly writes: readonly WriteRecord[] }

const lineCharactersMax = 1_000_000

/** The writes of all objects that the user may read. */
export async function* streamWrites(query: WritesQuery): AsyncGenerator<WritesBatch, void, undefined> {
  const { signal, sinceMs, namespace, ...others } = query
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(others)) parameters.set(name, String(value))
  if (sinceMs !== undefined) parameters.set('since', new Date(sinceMs).toISOString())
  if (namespace) parameters.set('namespace', namespace)
  const lines = new LineSplitter({ charactersMax: lineCharactersMax })
  for await (const text of streamApi(`/k8ts/writes?${parameters}`, { signal })) {
    const values = lines.push(text).filter(Boolean).map(parseLine)
    const writes: WriteRecord[] = []
    for (const value of values) {
      if ('retainedSince' in value) yield { header: value }
      else if ('status' in value) throw apiErrorOfStatus(value as Status)
      else writes.push(value as WriteRecord)
    }
    if (writes.length > 0) yield { writes }
  }
}

function parseLine(line: string): WritesHeader | WriteRecord | Status {
  return JSON.parse(line) as WritesHeader | WriteRecord | Status
}
