/**
 * Makes a damaged embedded store usable again with what is intact in it. What is lost cannot be brought back: a
 * snapshot is the better choice if there is a recent one.
 */
import type { Platform } from '#/platform/platform.ts'
import type { Damage } from './embedded/damage.ts'
import { assertCurrentFormat, LogView, newestVersions } from './embedded/log-view.ts'
import { markPaths, type StorePlace } from './embedded/mark.ts'
import type { LogContent } from './embedded/read-log.ts'
import { lockStore, replaceStore, revisionAfter, type ReplacedStore } from './embedded/replace-store.ts'

export interface Loss {
  /** Revisions that were acknowledged, or given to writes, and are not in the log any more. */
  readonly revisions: readonly RevisionRange[]
  /** Keys of damaged records. */
  readonly keys: readonly LostKey[]
  /** Lost revisions up to this one leave no trace but damaged records. */
  readonly compacted: number
  /** Number of objects that are intact. */
  readonly keptCount: number
}

export interface RevisionRange {
  readonly first: number
  readonly last: number
}

export interface LostKey {
  readonly key: string
  readonly revision: number
  /** The newest intact revision of the object; undefined when there is none. */
  readonly newestIntact: number | undefined
}

export interface RepairOptions {
  readonly platform: Platform
  readonly place: StorePlace
  /** Without it nothing is changed. */
  readonly acceptsLoss: boolean
}

export type Repair =
  | { readonly state: 'missing' }
  | { readonly state: 'intact' }
  | {
      readonly state: 'damaged'
      readonly damages: readonly Damage[]
      readonly loss: Loss
      /** Undefined when the loss is not accepted. */
      readonly repaired: ReplacedStore | undefined
    }

/** No process may use the store. The damaged files are kept under another name. */
export async function repairStore({ platform, place, acceptsLoss }: RepairOptions): Promise<Repair> {
  const { files, clock, random } = platform
  const { folder } = place
  await assertCurrentFormat(files, folder)
  await using _ = await lockStore(platform, place)
  const options = { files, clock, folder, marks: markPaths(place) }
  const { damages, isMissing } = await inspect(options)
  if (damages.length === 0) return { state: isMissing ? 'missing' : 'intact' }
  await using salvaged = await LogView.open({ ...options, salvages: true })
  const { log } = salvaged
  const loss = assessLoss(log)
  if (!acceptsLoss) return { state: 'damaged', damages, loss, repaired: undefined }
  const repaired = await replaceStore({
    platform,
    place,
    storeId: log.storeId ?? random.uuid('store id'),
    entries: salvaged.entries(),
    revision: revisionAfter(salvaged.revision, log.mark?.revision ?? 0),
    reason: 'damaged',
  })
  return { state: 'damaged', damages, loss, repaired }
}

async function inspect(
  options: Parameters<typeof LogView.open>[0],
): Promise<{ readonly damages: readonly Damage[]; readonly isMissing: boolean }> {
  await using view = await LogView.open(options)
  return { damages: view.log.damages, isMissing: view.log.storeId === undefined }
}

/** `log` is what was salvaged. */
export function assessLoss(
  log: Pick<LogContent, 'versions' | 'compacted' | 'mark' | 'damagedRecords'>,
): Loss {
  const { versions, compacted, mark, damagedRecords } = log
  const kept = newestVersions(versions)
  const newest = new Map(kept.map(({ key, revision }) => [key, revision]))
  const found = new Set(versions.map(({ revision }) => revision))
  const keys = damagedRecords
    .filter(({ revision }) => !found.has(revision))
    .map(({ key, revision }) => ({ key, revision, newestIntact: newest.get(key) }))
  const revisions = gapsIn(found, { after: Math.max(compacted, 1), until: mark?.revision ?? 0 })
  return { revisions, keys, compacted, keptCount: kept.length }
}

function gapsIn(
  found: ReadonlySet<number>,
  { after, until }: { readonly after: number; readonly until: number },
): RevisionRange[] {
  const gaps: RevisionRange[] = []
  let before = after
  const sorted = [...found].sort((left, right) => left - right)
  for (const revision of [...sorted, Math.max(until, sorted.at(-1) ?? 0) + 1]) {
    if (revision > before + 1) gaps.push({ first: before + 1, last: revision - 1 })
    before = Math.max(before, revision)
  }
  return gaps
}
