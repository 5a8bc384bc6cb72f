/**
 * A consistent view of the log of a store that another process may be writing to. Sealed segments never change, and
 * the mark tells which part of the last one is acknowledged. All files are opened before the mark is read, so what it
 * covers stays readable, also when segments are rewritten and removed meanwhile.
 */
import { basename, join } from 'node:path'
import type { Clock, Files, Platform, ReadFile } from '#/platform/platform.ts'
import type { StoreContent, StoredEntry } from '../content.ts'
import type { Version } from '../local/version.ts'
import { StoreDamagedError } from './damage.ts'
import { hasFormat1 } from './format-1.ts'
import { valueIn } from './frame.ts'
import { positionAt, segmentAt } from './location.ts'
import { markPaths, type StorePlace } from './mark.ts'
import { readLog, type LogContent, type ReadLogOptions } from './read-log.ts'
import { rangeOf } from './segment-header.ts'

export interface LogViewOptions extends ReadLogOptions {
  readonly files: Files
  readonly clock: Clock
}

export class LogView implements StoreContent {
  /** See its `damages`. */
  readonly log: LogContent
  /** The version of each existing key, in the order of the log. */
  readonly live: readonly Version[]
  readonly #options: LogViewOptions
  readonly #segments: ReadonlyMap<number, HeldSegment>
  readonly #resources: AsyncDisposableStack

  private constructor(options: LogViewOptions, { log, segments, resources }: LogViewParts) {
    this.log = log
    this.live = newestVersions(log.versions)
    this.#options = options
    this.#segments = segments
    this.#resources = resources
  }

  static async open(options: LogViewOptions): Promise<LogView> {
    for (let attempts = 1; ; attempts++) {
      const view = await LogView.#tryOpen(options)
      // While the files are opened a segment may be removed or begun: the mark does not fit then.
      const isFinal = !options.isInUse || attempts === attemptsMax
      if (view && (view.log.damages.length === 0 || isFinal)) return view
      if (isFinal) throw new Error(`the files in ${options.folder} change too fast to be read: try again`)
      await view?.[Symbol.asyncDispose]()
      await options.clock.sleep(retryMs)
    }
  }

  /**
   * The log of a store. If no process uses it, it is locked until the view is disposed and read to its end: after a
   * power failure the mark may be older than the last acknowledged writes. Otherwise it is read up to the mark.
   */
  static async openStore(
    { files, clock }: Pick<Platform, 'files' | 'clock'>,
    place: StorePlace,
  ): Promise<LogView> {
    const { folder } = place
    await assertCurrentFormat(files, folder)
    const exists = (await files.stat(folder)) !== undefined
    const lock = exists ? await files.lock(join(folder, 'lock')) : undefined
    await using resources = new AsyncDisposableStack()
    if (lock) resources.use(lock)
    const isInUse = exists && lock === undefined
    const view = await LogView.open({ files, clock, folder, marks: markPaths(place), isInUse })
    view.#resources.use(resources.move())
    return view
  }

  static async #tryOpen(options: LogViewOptions): Promise<LogView | undefined> {
    const { files, folder } = options
    await using resources = new AsyncDisposableStack()
    const names = (await files.stat(folder)) ? (await files.list(folder)).filter(name => rangeOf(name)) : []
    const readers = new Map<string, ReadFile>()
    try {
      for (const name of names) readers.set(name, resources.use(await files.openRead(join(folder, name))))
    } catch (error) {
      if (options.isInUse && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    const held: ReadLogOptions['files'] = {
      stat: path => files.stat(path),
      list: async () => names,
      read: async path => {
        const reader = readers.get(basename(path))
        return reader ? readAll(reader) : files.read(path)
      },
    }
    const log = await readLog({ ...options, files: held })
    const used = names.filter(name => !log.leftovers.includes(name))
    const segments = new Map(used.map(name => [rangeOf(name)!.last, { name, reader: readers.get(name)! }]))
    return new LogView(options, { log, segments, resources: resources.move() })
  }

  get storeId(): string {
    return this.log.storeId ?? ''
  }

  /** An empty store is at revision 1. */
  get revision(): number {
    const { versions, compacted } = this.log
    return versions.reduce((last, { revision }) => Math.max(last, revision), Math.max(compacted, 1))
  }

  async *entries(): AsyncGenerator<StoredEntry, void, undefined> {
    const { clock, folder } = this.#options
    let bytes = 0
    for (const version of this.live) {
      const { key, revision, createRevision, expiresMs, location, sizeBytes } = version
      const { name, reader } = this.#segments.get(segmentAt(location))!
      const positionBytes = positionAt(location)
      const value = valueIn(reader.read(positionBytes, sizeBytes), revision)
      if (value === undefined) {
        const reason = `the value of ${key} at revision ${revision} is damaged`
        throw new StoreDamagedError(folder, [{ file: name, positionBytes, reason }])
      }
      yield { key, value, revision, createRevision, expiresMs }
      bytes += sizeBytes
      if (bytes < bytesBetweenPauses) continue
      bytes = 0
      await clock.turn()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
  }
}

export async function assertCurrentFormat(files: Files, folder: string): Promise<void> {
  if (await hasFormat1(files, folder))
    throw new Error(`the store in ${folder} has an older format: start k8ts up once, which migrates it`)
}

interface LogViewParts {
  readonly log: LogContent
  /** By the last number of each. */
  readonly segments: ReadonlyMap<number, HeldSegment>
  readonly resources: AsyncDisposableStack
}

interface HeldSegment {
  readonly name: string
  readonly reader: ReadFile
}

/** The newest version of each key that was not deleted, in their order. Versions may be in any order. */
export function newestVersions(versions: readonly Version[]): Version[] {
  const newest = new Map<string, Version>()
  for (const version of versions) {
    const other = newest.get(version.key)
    if (other === undefined || other.revision < version.revision) newest.set(version.key, version)
  }
  return versions.filter(version => !version.isDeletion && newest.get(version.key) === version)
}

function readAll(reader: ReadFile): Uint8Array {
  const parts: Uint8Array[] = []
  let sizeBytes = 0
  for (;;) {
    const part = reader.read(sizeBytes, partBytes)
    parts.push(part)
    sizeBytes += part.length
    if (part.length < partBytes) return Buffer.concat(parts)
  }
}

const partBytes = 4 * 1024 * 1024

const attemptsMax = 5
const retryMs = 100

/** Requests are served between two pauses. */
const bytesBetweenPauses = 256 * 1024
