/** Sends requests to both servers and compares the answers. */
import { decodeBody, type Answer } from './answers/answer.ts'
import { compareAnswers, type NormalAnswer } from './answers/compare-answers.ts'
import type { ClassifiedDifference } from './answers/difference-class.ts'
import { knownDifferenceOf } from './known-differences.ts'
import { normalizeBody, normalizeHeaders, warningsOf } from './answers/normalize.ts'
import {
  emptyMemory,
  resolveRequest,
  textOf,
  type Body,
  type Memory,
  type PlannedRequest,
  type SentRequest,
} from './request.ts'
import type { ServerConnection } from './server-connection.ts'

export interface Comparison {
  readonly request: PlannedRequest
  /** As our server got it. */
  readonly sent: SentRequest
  readonly ours: NormalAnswer
  readonly theirs: NormalAnswer
  /** Without the deliberate ones. */
  readonly differences: readonly ClassifiedDifference[]
  /** Ids of the deliberate differences. */
  readonly known: readonly string[]
}

interface Exchange {
  readonly sent: SentRequest
  readonly answer: NormalAnswer
  readonly memory: Memory
}

export class ServerPair implements AsyncDisposable {
  readonly ours: ServerConnection
  readonly theirs: ServerConnection

  constructor(ours: ServerConnection, theirs: ServerConnection) {
    this.ours = ours
    this.theirs = theirs
  }

  get both(): readonly ServerConnection[] {
    return [this.ours, this.theirs]
  }

  /** Sends the requests in order; the answers of each server are the memory of its later requests. */
  async *compare(sequence: readonly PlannedRequest[]): AsyncGenerator<Comparison> {
    let memories: readonly Memory[] = [emptyMemory, emptyMemory]
    for (const request of sequence) {
      const [mine, others] = await Promise.all(
        this.both.map((server, index) => exchange(server, request, memories[index]!)),
      )
      memories = [mine!.memory, others!.memory]
      const [ours, theirs] = [mine!.answer, others!.answer]
      const { sent } = mine!
      const context = { path: sent.path, method: sent.method, body: ours.body }
      const all = compareAnswers(ours, theirs)
      const ids = all.map(difference => knownDifferenceOf(difference, context))
      const differences = all.filter((_, index) => ids[index] === undefined)
      const known = [...new Set(ids.filter(id => id !== undefined))]
      yield { request, sent, ours, theirs, differences, known }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.both) await server[Symbol.asyncDispose]()
  }
}

async function exchange(
  server: ServerConnection,
  request: PlannedRequest,
  memory: Memory,
): Promise<Exchange> {
  const sent = resolveRequest(request, memory)
  const answer = await server.send(sent)
  const body = decodeBody(answer, { isWatch: request.answer === 'watch' && answer.status === 200 })
  // A body that was made from an earlier answer contains values that the server allocated.
  const given = typeof request.body === 'object' ? textOf(request.body) : ''
  const context = { address: server.address, path: sent.path, sent: sent.path + given }
  return {
    sent,
    answer: {
      status: answer.status,
      headers: normalizeHeaders(answer.headers),
      warnings: warningsOf(answer.headers),
      body: normalizeBody(body, context),
    },
    memory: remember(memory, answer, body),
  }
}

interface Metadata {
  readonly name?: string
  readonly resourceVersion?: string
}

function remember(memory: Memory, { status }: Answer, body: unknown): Memory {
  if (status >= 300 || typeof body !== 'object' || body === null) return memory
  const { kind, metadata } = body as { readonly kind?: string; readonly metadata?: Metadata }
  if (kind?.endsWith('List')) return { ...memory, listVersion: metadata?.resourceVersion ?? '0' }
  return kind === 'Status' || kind === 'Table' || kind === 'Scale' || metadata?.name === undefined
    ? memory
    : { ...memory, object: body as Body }
}
