/**
 * The main thread's side of the embedded store's journal: commands are sent to the log writer thread, reads
 * are done directly.
 */
import { once } from 'node:events'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { assert } from '#/base/assert.ts'
import { JournalFullError, type Journal } from '../local/journal.ts'
import type { Version } from '../local/version.ts'
import { packVersions } from './batch.ts'
import type { CopyOptions } from './copy-worker.ts'
import { openForReading, readMeta } from './database.ts'
import { openedId, type Command, type Reply, type Request, type WorkerOptions } from './messages.ts'

export class SqliteJournal implements Journal {
  readonly #path: string
  readonly #writer: Writer
  readonly #reader: DatabaseSync
  readonly #selectValue: StatementSync

  private constructor(path: string, writer: Writer, reader: DatabaseSync) {
    this.#path = path
    this.#writer = writer
    this.#reader = reader
    this.#selectValue = reader.prepare('SELECT value FROM value WHERE revision = ?')
  }

  static async open(options: WorkerOptions): Promise<SqliteJournal> {
    const writer = new Writer(options)
    try {
      await writer.opened
      return new SqliteJournal(options.path, writer, openForReading(options.path))
    } catch (cause) {
      await writer.stop()
      throw new Error(`cannot open the store ${options.path}: ${(cause as Error).message}`, { cause })
    }
  }

  get compacted(): number {
    return readMeta(this.#reader, 'compacted')
  }

  /** All versions without their values, ordered by revision. */
  *versions(): Generator<Version, void, undefined> {
    const select = this.#reader.prepare(
      'SELECT revision, key, create_revision, expires_ms FROM version ORDER BY revision',
    )
    select.setReturnArrays(true)
    for (const row of select.iterate() as Iterable<unknown>) {
      const [revision, key, createRevision, expiresMs] = row as [number, string, number, number]
      yield { key, revision, createRevision, value: undefined, expiresMs, older: undefined }
    }
  }

  append(versions: readonly Version[]): Promise<void> {
    const batch = packVersions(versions)
    return this.#writer.perform({ type: 'append', batch }, [batch])
  }

  readValue(revision: number): Uint8Array {
    const value = this.#selectValue.get(revision)?.['value']
    assert(value instanceof Uint8Array, `the log has the value of revision ${revision}`)
    return value
  }

  prune(compacted: number, revisions: readonly number[]): Promise<void> {
    return this.#writer.perform({ type: 'forget', compacted, revisions })
  }

  /** Reserves disk space for writes when the disk is full. */
  reserve(): Promise<void> {
    return this.#writer.perform({ type: 'reserve' })
  }

  /** Writes a consistent copy of the database to a file that must not exist. */
  async copyTo(path: string): Promise<void> {
    const workerData: CopyOptions = { from: this.#path, to: path }
    const worker = new Worker(new URL('copy-worker.ts', import.meta.url), { workerData })
    await once(worker, 'exit')
  }

  async close(): Promise<void> {
    this.#reader.close()
    await this.#writer.perform({ type: 'close' })
    await this.#writer.stop()
  }
}

class Writer {
  readonly opened: Promise<void>
  readonly #worker: Worker
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()
  #lastId = openedId
  #failure: Error | undefined

  constructor(workerData: WorkerOptions) {
    this.opened = this.#expect(openedId)
    this.#worker = new Worker(new URL('worker.ts', import.meta.url), { workerData })
    this.#worker.on('message', (reply: Reply) => this.#settle(reply))
    this.#worker.on('error', error => this.#fail(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#fail(new Error('log writer thread exited')))
  }

  perform(command: Command, transfer: ArrayBuffer[] = []): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure)
    const id = ++this.#lastId
    this.#worker.postMessage({ id, command } satisfies Request, transfer)
    return this.#expect(id)
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }

  #expect(id: number): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    this.#waiting.set(id, waiting)
    return waiting.promise
  }

  #settle({ id, error, isFull }: Reply): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve()
    else waiting?.reject(isFull ? new JournalFullError(error) : new Error(error))
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure)
    this.#waiting.clear()
  }
}
