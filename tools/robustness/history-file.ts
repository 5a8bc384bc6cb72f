/**
 * A history as a file: one record in JSON per line, and also the calls of writes, so that a run that is killed leaves a
 * history that can be checked.
 */
import { createWriteStream, type WriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import type { CallRecord, HistoryRecord, Operation } from '#/simulation/history/history.ts'

export class HistoryWriter implements AsyncDisposable {
  readonly #stream: WriteStream

  constructor(path: string) {
    this.#stream = createWriteStream(path)
  }

  write(record: HistoryRecord | CallRecord): void {
    this.#stream.write(`${JSON.stringify(record)}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream.end()
    await finished(this.#stream)
  }
}

/**
 * An incomplete last line, of a run that was killed, is ignored; the outcome of writes that had begun is unknown.
 * Throws Error when the file is not a history.
 */
export async function readHistory(path: string): Promise<HistoryRecord[]> {
  await using file = await open(path)
  const records: HistoryRecord[] = []
  const pending = new Map<string, CallRecord>()
  let incomplete: Error | undefined
  let number = 0
  for await (const line of file.readLines()) {
    number++
    if (incomplete !== undefined) throw incomplete
    const record = parseLine(line)
    if (record === undefined) incomplete = new Error(`${path}: line ${number} is not JSON`)
    else if (record.type === 'call') pending.set(record.client, record)
    else {
      if (record.type === 'operation') pending.delete(record.client)
      records.push(record)
    }
  }
  if (records[0]?.type !== 'run') throw new Error(`${path}: not a history of this tool`)
  return [...records, ...pending.values().map(withoutOutcome)]
}

function parseLine(line: string): HistoryRecord | CallRecord | undefined {
  try {
    return JSON.parse(line) as HistoryRecord | CallRecord
  } catch {
    return undefined
  }
}

function withoutOutcome(call: CallRecord): Operation {
  const outcome = { type: 'unknown', reason: 'the history ends before' } as const
  return { ...call, type: 'operation', returnMs: Infinity, outcome }
}
