/** Copies the objects of a store to an etcd or from it. The hash of both tells that they are equal. */
import type { Clock, Platform } from '#/platform/platform.ts'
import {
  ContentHasher,
  hashContent,
  type ContentHash,
  type StoreContent,
  type StoredEntry,
} from './content.ts'
import { markPaths, readMark } from './embedded/mark.ts'
import type { ReplacedStore } from './embedded/replace-store.ts'
import type { EtcdStore } from './etcd.ts'
import { restoreSnapshot, type StorePlace } from './snapshot.ts'
import type { WriteResult } from './store.ts'

/**
 * Rejects when the etcd has keys already, and when it differs from the source afterwards. Revisions are those of the
 * etcd.
 */
export async function writeToEtcd(
  { clock }: Pick<Platform, 'clock'>,
  source: Pick<StoreContent, 'entries'>,
  target: EtcdStore,
): Promise<ContentHash> {
  const { entries: existing, remaining } = await target.list({ prefix: '/', limit: 1 })
  if (existing[0]) {
    throw new Error(
      `etcd is not empty: it has ${remaining + 1} keys, such as ${existing[0].key}. Use an empty one, or remove them ` +
        'with "etcdctl del --prefix /registry/"',
    )
  }
  const hasher = new ContentHasher()
  await createAll(clock, hasher.passing(lasting(clock, source.entries())), target)
  const written = hasher.finish()
  await using content = await target.readContent()
  const found = await hashContent(content)
  if (found.hash !== written.hash) {
    throw new Error(
      `${written.keyCount} keys with hash ${written.hash} were written, and etcd has ${found.keyCount} with hash ` +
        `${found.hash}: another process writes to it. Stop it, empty the etcd and try again`,
    )
  }
  return written
}

export interface MigrateToEmbeddedOptions {
  readonly platform: Platform
  readonly source: EtcdStore
  readonly place: StorePlace
  /** Replaces a store that is intact. */
  readonly force: boolean
}

/** No process may use either store. */
export async function migrateToEmbedded(options: MigrateToEmbeddedOptions): Promise<ReplacedStore> {
  const { platform, source, place, force } = options
  await using content = await source.readContent()
  const storeId = (await readMark(platform.files, markPaths(place)))?.storeId ?? content.storeId
  const { revision } = content
  const snapshot: StoreContent = {
    storeId,
    revision,
    entries: () => content.entries(),
    [Symbol.asyncDispose]: async () => undefined,
  }
  const replaced = await restoreSnapshot({ platform, snapshot, place, force })
  const now = await source.revision()
  if (now !== revision) {
    throw new Error(
      `etcd was written to during the migration (revision ${revision} to ${now}), so ${place.folder} lacks the last ` +
        'writes: stop all API servers of this etcd and migrate again with --force',
    )
  }
  return replaced
}

/** Without objects that expire before the copy can be compared. */
async function* lasting(
  clock: Clock,
  entries: AsyncIterable<StoredEntry>,
): AsyncGenerator<StoredEntry, void, undefined> {
  for await (const entry of entries)
    if (entry.expiresMs === 0 || entry.expiresMs > clock.now() + lastingMs) yield entry
}

async function createAll(
  clock: Clock,
  entries: AsyncIterable<StoredEntry>,
  target: EtcdStore,
): Promise<void> {
  const writing = new Set<Promise<void>>()
  const failed: unknown[] = []
  for await (const entry of entries) {
    const write = create(clock, entry, target)
      .catch((error: unknown) => void failed.push(error))
      .finally(() => writing.delete(write))
    writing.add(write)
    if (writing.size >= concurrency) await Promise.race(writing)
    if (failed.length > 0) break
  }
  await Promise.all(writing)
  if (failed.length > 0) throw failed[0]
}

async function create(
  clock: Clock,
  { key, value, expiresMs }: StoredEntry,
  target: EtcdStore,
): Promise<void> {
  let result: WriteResult
  try {
    result = await target.create(key, value, expiresMs === 0 ? {} : { ttlMs: roundedTtlMs(clock, expiresMs) })
  } catch (cause) {
    throw new Error(`cannot write ${key} to etcd: ${(cause as Error).message}`, { cause })
  }
  if (!result.written) throw new Error(`cannot write ${key} to etcd: another process wrote it`)
}

/** Rounded up, since keys with the same time to live share a lease. */
function roundedTtlMs(clock: Clock, expiresMs: number): number {
  return Math.ceil((expiresMs - clock.now()) / ttlStepMs) * ttlStepMs
}

const ttlStepMs = 60_000

const lastingMs = 60_000

/** Writes in flight: etcd commits them together. */
const concurrency = 64
