/**
 * Audit backend that appends events to a file and rotates it. Rotated files are named with a timestamp and
 * removed by number and age.
 */
import { basename, dirname, extname, join } from 'node:path'
import type { AppendFile, Platform } from '#/platform/platform.ts'
import type { AuditBackend, AuditMode } from '../audit.ts'
import { legacyLine } from './legacy-line.ts'
import { LineQueue } from './line-queue.ts'

export interface AuditLogSettings {
  readonly path: string
  /** Defaults to JSON; `legacy` is a text line with fewer fields. */
  readonly format?: 'json' | 'legacy'
  /** Defaults to batch. */
  readonly mode?: AuditMode
  /** Defaults to 100 MiB. */
  readonly sizeBytesMax?: number
  /** Maximum age of rotated files; unlimited when absent. */
  readonly ageMsMax?: number
  /** Maximum number of rotated files; unlimited when absent. */
  readonly backupsMax?: number
}

export interface AuditLogOptions extends AuditLogSettings {
  readonly platform: Platform
  /** Called with the number of events that are lost. */
  readonly onLost?: (count: number) => void
}

export class AuditLog implements AuditBackend {
  readonly #options: AuditLogOptions
  readonly #queue = new LineQueue(bounds)
  /** Pending writes in queue order; empty in batch mode. */
  readonly #waiting: ((isWritten: boolean) => void)[] = []
  #file: AppendFile | undefined
  #sizeBytes = 0

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  get mode(): AuditMode {
    return this.#options.mode ?? 'batch'
  }

  record(line: string): Promise<boolean> | undefined {
    const { format } = this.#options
    const isTaken = this.#queue.push(format === 'legacy' ? legacyLine(line) : line)
    if (this.mode === 'batch') return undefined
    const { promise, resolve } = Promise.withResolvers<boolean>()
    if (isTaken) this.#waiting.push(resolve)
    else resolve(false)
    return promise
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    while (!signal.aborted || this.#queue.length > 0) {
      await this.#queue.waitForLine(signal)
      const dropped = this.#queue.takeDropped()
      if (dropped > 0) {
        this.#options.onLost?.(dropped)
        log.error('audit log backend queue full, events dropped', { dropped })
      }
      const lines = this.#queue.take(linesAtOnce)
      if (lines.length === 0) continue
      const waiting = this.#waiting.splice(0, lines.length)
      try {
        await this.#write(Buffer.from(`${lines.join('\n')}\n`))
        for (const tell of waiting) tell(true)
      } catch (error) {
        for (const tell of waiting) tell(false)
        this.#options.onLost?.(lines.length)
        log.error('failed to write audit events', { lost: lines.length, error })
        await this.#close()
        if (!signal.aborted) await clock.sleep(failureDelayMs, signal).catch(() => undefined)
      }
    }
    await this.#close()
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const {
      platform: { files },
      path,
      sizeBytesMax = defaultSizeBytesMax,
    } = this.#options
    if (this.#file === undefined) {
      await files.makeFolder(dirname(path), { mode: 0o700 })
      this.#sizeBytes = (await files.stat(path))?.sizeBytes ?? 0
    }
    if (this.#sizeBytes > 0 && this.#sizeBytes + bytes.length > sizeBytesMax) await this.#rotate()
    this.#file ??= await files.openAppend(path, { mode: 0o600 })
    await this.#file.append(bytes)
    this.#sizeBytes += bytes.length
  }

  async #rotate(): Promise<void> {
    const {
      platform: { files, clock },
      path,
    } = this.#options
    await this.#close()
    const stamp = new Date(clock.now()).toISOString().replaceAll(':', '-').replace('Z', '')
    await files.rename(path, join(dirname(path), `${nameOf(path)}-${stamp}${extname(path)}`))
    this.#sizeBytes = 0
    await this.#forgetOld()
  }

  async #forgetOld(): Promise<void> {
    const {
      platform: { files, clock },
      path,
      ageMsMax = Infinity,
      backupsMax = Infinity,
    } = this.#options
    const folder = dirname(path)
    const aside = (await files.list(folder))
      .flatMap(name => {
        const ms = putAsideMs(name, path)
        return ms === undefined ? [] : [{ name, ms }]
      })
      .sort((left, right) => right.ms - left.ms)
    const oldestMs = clock.now() - ageMsMax
    for (const [index, { name, ms }] of aside.entries()) {
      if (index >= backupsMax || ms < oldestMs) await files.remove(join(folder, name))
    }
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.[Symbol.asyncDispose]()
  }
}

const defaultSizeBytesMax = 100 * 1024 * 1024

/** Bounds of the queue; past them events are dropped and their number is logged. */
const bounds = { linesMax: 10_000, bytesMax: 64 * 1024 * 1024 }

const linesAtOnce = 400
const failureDelayMs = 1_000

function nameOf(path: string): string {
  return basename(path, extname(path))
}

/** Rotation time from the file name; undefined if it is not a rotated audit log. */
function putAsideMs(name: string, path: string): number | undefined {
  const [head, tail] = [`${nameOf(path)}-`, extname(path)]
  if (!name.startsWith(head) || !name.endsWith(tail)) return undefined
  const stamp = name.slice(head.length, name.length - tail.length)
  const [, date, hour, minute, second] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp) ?? []
  const ms = Date.parse(`${date}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(ms) ? undefined : ms
}
