import { ApiError as ServerError } from '#/api/errors.ts'
import type { collectTrace } from '#/trace/collect-trace.ts'
import { ApiError } from '../data/api-error.ts'
import { streamApi } from '../data/api-stream.ts'
import { LineSplitter } from '../data/line-splitter.ts'

type TraceClient = Parameters<typeof collectTrace>[0]

const valueCharactersMax = 100_000_000
const lineCharactersMax = 16_000_000

/** Requests of `trace/` through the connection of the console. */
export const traceClient: TraceClient = {
  raw: async ({ path, query, signal }) => {
    const discarded = new AbortController()
    const ended = signal ? AbortSignal.any([signal, discarded.signal]) : discarded.signal
    const parameters = query?.toString() ?? ''
    const texts = streamApi(parameters === '' ? path : `${path}?${parameters}`, { signal: ended })
    // The status is known with the first piece.
    const first = await texts.next().catch((error: unknown) => {
      signal?.throwIfAborted()
      throw serverError(error)
    })
    const pieces = withFirst(first, texts)
    return {
      status: 200,
      headers: {},
      value: () => readValue(pieces),
      events: () => readLines(pieces),
      bytes: () => encode(pieces),
      discard: () => discarded.abort(),
    }
  },
}

type Texts = AsyncGenerator<string, void, undefined>

async function* withFirst(first: IteratorResult<string, void>, texts: Texts): Texts {
  try {
    if (first.done) return
    yield first.value
    yield* texts
  } finally {
    await texts.return()
  }
}

async function readValue(pieces: Texts): Promise<unknown> {
  let text = ''
  for await (const piece of pieces) {
    text += piece
    if (text.length > valueCharactersMax) throw new Error('The response is too large.')
  }
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

async function* readLines(pieces: Texts): AsyncGenerator<readonly unknown[], void, undefined> {
  const lines = new LineSplitter({ charactersMax: lineCharactersMax })
  for await (const piece of pieces) {
    const batch = lines
      .push(piece)
      .filter(Boolean)
      .map(line => JSON.parse(line) as unknown)
    if (batch.length > 0) yield batch
  }
}

async function* encode(pieces: Texts): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  for await (const piece of pieces) yield encoder.encode(piece)
}

/** Code of other components matches on the reason of its own error class. */
function serverError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.status === 0) return error
  const { message, status: code } = error
  const reason = error.reason || (code === 404 ? 'NotFound' : 'InternalError')
  return new ServerError(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code },
    { cause: error },
  )
}
