/** Verifies all files of an embedded store, which may be in use, without changing anything. */
import type { Platform } from '#/platform/platform.ts'
import { hashContent, type ContentHash } from './content.ts'
import { StoreDamagedError, type Damage } from './embedded/damage.ts'
import { segmentAt } from './embedded/location.ts'
import { LogView } from './embedded/log-view.ts'
import type { StorePlace } from './embedded/mark.ts'
import type { Version } from './local/version.ts'

export interface StoreCheck {
  /** Undefined when there is no store. */
  readonly storeId: string | undefined
  readonly revision: number
  readonly compacted: number
  readonly segments: readonly CheckedSegment[]
  /** Undefined when the store is damaged. */
  readonly content: ContentHash | undefined
  readonly damages: readonly Damage[]
}

export interface CheckedSegment {
  readonly name: string
  readonly fileBytes: number
  /** Size of the records that can still be read: existing objects, and history that is not compacted. */
  readonly liveBytes: number
  readonly garbageBytes: number
  /** Revisions of its records; undefined when it has none. */
  readonly revisions: { readonly first: number; readonly last: number } | undefined
}

export async function checkStore(platform: Platform, place: StorePlace): Promise<StoreCheck> {
  await using view = await LogView.openStore(platform, place)
  const { storeId, compacted } = view.log
  const found = { storeId, revision: view.revision, compacted, segments: usageOf(view.log) }
  const { damages } = view.log
  if (damages.length > 0) return { ...found, damages, content: undefined }
  try {
    return { ...found, damages, content: await hashContent(view) }
  } catch (error) {
    if (!(error instanceof StoreDamagedError)) throw error
    return { ...found, damages: error.damages, content: undefined }
  }
}

function usageOf({ segments, versions, compacted }: LogView['log']): CheckedSegment[] {
  const needed = neededVersions(versions, compacted)
  const bySegment = Map.groupBy(versions, ({ location }) => segmentAt(location))
  return segments.map(({ name, header, fileBytes }) => {
    const held = bySegment.get(header.last) ?? []
    const live = held.filter(version => needed.has(version))
    const revisions = held.map(({ revision }) => revision)
    const [first, last] = [revisions[0], revisions.at(-1)]
    return {
      name,
      fileBytes,
      liveBytes: sizeOf(live),
      garbageBytes: sizeOf(held) - sizeOf(live),
      revisions: first === undefined || last === undefined ? undefined : { first, last },
    }
  })
}

/** The versions that a read at the compacted revision or later can return. */
export function neededVersions(versions: readonly Version[], compacted: number): ReadonlySet<Version> {
  const needed = new Set<Version>()
  const atCompaction = new Map<string, Version>()
  for (const version of versions) {
    if (version.revision > compacted) needed.add(version)
    else if ((atCompaction.get(version.key)?.revision ?? 0) < version.revision)
      atCompaction.set(version.key, version)
  }
  for (const version of atCompaction.values()) if (!version.isDeletion) needed.add(version)
  return needed
}

function sizeOf(versions: readonly Version[]): number {
  return versions.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}
