/** The versions of an object that the page has read, newest first. */
import type { ObjectVersion } from '#/api/object-history.ts'
import type { VersionStep } from '#/history/describe-version.ts'

export interface VersionList {
  readonly versions: readonly ObjectVersion[]
  /** Value of `before` for older versions; undefined if there are none. */
  readonly older: string | undefined
}

export const noVersions: VersionList = { versions: [], older: undefined }

const versionsMax = 2_000

interface Page {
  readonly items: readonly ObjectVersion[]
  readonly metadata: { readonly continue?: string }
}

/** Adds a page of older versions at the end. */
export function addOlder({ versions }: VersionList, { items, metadata }: Page): VersionList {
  const all = [...versions, ...items]
  return {
    versions: all.slice(0, versionsMax),
    older: all.length < versionsMax ? metadata.continue : undefined,
  }
}

/** Adds the newest versions. Starts again with them if there is a gap to those that are known. */
export function addNewer({ versions, older }: VersionList, { items, metadata }: Page): VersionList {
  const newest = versions[0]?.revision ?? 0
  const added = items.filter(({ revision }) => revision > newest)
  if (added.length === items.length && metadata.continue !== undefined) {
    return { versions: items, older: metadata.continue }
  }
  return {
    versions: [...added, ...versions].slice(0, versionsMax),
    older: older ?? (versions.length === 0 ? metadata.continue : undefined),
  }
}

/** Each version with the one before it. */
export function stepsOf({ versions }: Pick<VersionList, 'versions'>): readonly VersionStep[] {
  return versions.map((version, index) => ({ version, previous: versions[index + 1] }))
}
