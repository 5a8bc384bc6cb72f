/** The thread that writes the log of the embedded store. Commands are executed sequentially. */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { unpackVersions } from './batch.ts'
import { openForWriting } from './database.ts'
import { openedId, type Command, type Reply, type Request, type WorkerOptions } from './messages.ts'

class LogWriter {
  readonly #options: WorkerOptions
  readonly #lock: DatabaseSync
  readonly #database: DatabaseSync
  readonly #insertVersion: StatementSync
  readonly #insertValue: StatementSync
  readonly #deleteVersion: StatementSync
  readonly #deleteValue: StatementSync
  readonly #setCompacted: StatementSync

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#lock = takeLock(`${options.path}.lock`)
    this.#database = openForWriting(options.path)
    this.#insertVersion = this.#database.prepare('INSERT INTO version VALUES (?, ?, ?, ?)')
    this.#insertValue = this.#database.prepare('INSERT INTO value VALUES (?, ?)')
    this.#deleteVersion = this.#database.prepare('DELETE FROM version WHERE revision = ?')
    this.#deleteValue = this.#database.prepare('DELETE FROM value WHERE revision = ?')
    this.#setCompacted = this.#database.prepare(`UPDATE meta SET value = ? WHERE name = 'compacted'`)
  }

  perform(command: Command): void {
    switch (command.type) {
      case 'append':
        this.#append(command.batch)
        break
      case 'forget':
        this.#forget(command.compacted, command.revisions)
        break
      case 'reserve':
        reserveSpace(this.#database)
        break
      case 'close':
        this.#database.close()
        this.#lock.close()
        break
    }
  }

  #append(batch: ArrayBuffer): void {
    this.#transaction(() => {
      for (const { key, revision, createRevision, expiresMs, value } of unpackVersions(batch)) {
        this.#insertVersion.run(revision, key, createRevision, expiresMs)
        if (value) this.#insertValue.run(revision, value)
      }
    })
  }

  #forget(compacted: number, revisions: readonly number[]): void {
    this.#transaction(() => {
      this.#setCompacted.run(compacted)
      for (const revision of revisions) {
        this.#deleteVersion.run(revision)
        this.#deleteValue.run(revision)
      }
    })
    this.#shrink()
  }

  /** Returns some free pages to the file system if there are more than will soon be reused. */
  #shrink(): void {
    const free = this.#pragma('freelist_count') - reservePages
    if (free > this.#pragma('page_count') * freeShareKept)
      this.#database.exec(`PRAGMA incremental_vacuum(${vacuumPages})`)
  }

  #pragma(name: 'freelist_count' | 'page_count'): number {
    return Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name])
  }

  #transaction(work: () => void): void {
    this.#database.exec('BEGIN')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
    if (this.#options.syncDelayMs > 0) Atomics.wait(neverWoken, 0, 0, this.#options.syncDelayMs)
  }
}

/** The operating system releases the lock when the process ends in any way. */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (cause) {
    lock.close()
    throw new Error('the store is in use by another process', { cause })
  }
}

/** Number of pages returned in one step. */
const vacuumPages = 256

/** Fraction of pages kept free: compaction and writes constantly free and reuse them. */
const freeShareKept = 0.2

const neverWoken = new Int32Array(new SharedArrayBuffer(4))

function reply(id: number, error?: unknown): void {
  const text = error === undefined ? undefined : error instanceof Error ? error.message : 'unknown'
  parentPort!.postMessage({ id, error: text, isFull: isFull(error) } satisfies Reply)
}

/** SQLite failed before the commit, so nothing was written. A failed sync has another error code. */
function isFull(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteFull
}

const sqliteFull = 13

function start(): void {
  const port = parentPort!
  const writer = new LogWriter(workerData as WorkerOptions)
  const perform = ({ id, command }: Request): void => {
    try {
      writer.perform(command)
      reply(id)
    } catch (error) {
      reply(id, error)
    }
  }
  port.on('message', (first: Request) => {
    perform(first)
    // Polls before sleeping: a wakeup takes about as long as a sync of a fast disk, and a client that awaits
    // each reply sends its next command sooner.
    const { isOver, restart } = patience()
    while (!isOver()) {
      const next: { readonly message: Request } | undefined = receiveMessageOnPort(port)
      if (next === undefined) continue
      perform(next.message)
      restart()
    }
  })
}

/** Time to poll for the next command before sleeping. */
const patienceMs = 0.1

function patience(): { readonly isOver: () => boolean; readonly restart: () => void } {
  let startedMs = performance.now()
  return {
    isOver: () => performance.now() - startedMs > patienceMs,
    restart: () => {
      startedMs = performance.now()
    },
  }
}

/**
 * Disk space reserved in the database files. When other programs have filled the disk, this much can still be
 * written, e.g. the node's DiskPressure condition and the deletions of pods that free space.
 * It is reserved in the write-ahead log and in the database each: the amount written between two checkpoints.
 */
const reserveBytes = 4 * 1024 * 1024

const pageBytes = 4_096

const reservePages = reserveBytes / pageBytes

/** Both files keep the space of deleted data. Versions never have the revision -1. */
function reserveSpace(database: DatabaseSync): void {
  const forget = 'DELETE FROM value WHERE revision = -1'
  database.exec(forget)
  database.exec(`INSERT INTO value VALUES (-1, zeroblob(${reserveBytes}))`)
  database.exec(forget)
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
}

try {
  start()
  reply(openedId)
} catch (error) {
  reply(openedId, error)
}
