/**
 * All versions of all keys, with etcd's revisions. Nothing is ever removed: a compaction is a position in a
 * `View`, since the members of a cluster apply it at different times.
 */
import { SortedMap } from '#/base/sorted-map.ts'

/** One version of a key. */
export interface Version {
  /** One character per byte, so that strings have the order of bytes. */
  readonly key: string
  readonly modRevision: number
  readonly createRevision: number
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined
  /** 0 for a key without one. */
  readonly lease: bigint
}

/** What a member has applied. */
export interface View {
  readonly revision: number
  /** Earlier revisions cannot be read. Initially 0. */
  readonly compactRevision: number
}

export type Change = Pick<Version, 'key' | 'value' | 'lease'>

/** The revision of an empty etcd. */
const emptyRevision = 1

export class KeyHistory {
  /** The versions of each key, oldest first. */
  readonly #versions = new SortedMap<Version[]>()
  /** By revision, from the first after the empty one. */
  readonly #changes: (readonly Version[])[] = []

  get revision(): number {
    return emptyRevision + this.#changes.length
  }

  /** Writes different keys in one revision. */
  commit(changes: readonly Change[]): number {
    const modRevision = this.revision + 1
    const added = changes.map(({ key, value, lease }): Version => {
      const createRevision = this.at(key, modRevision)?.createRevision ?? modRevision
      return { key, value, lease, modRevision, createRevision: value === undefined ? 0 : createRevision }
    })
    for (const version of added) {
      const versions = this.#versions.get(version.key)
      if (versions) versions.push(version)
      else this.#versions.set(version.key, [version])
    }
    this.#changes.push(added)
    return modRevision
  }

  /** The version of an existing key at a revision. */
  at(key: string, revision: number): Version | undefined {
    return existing(this.#versions.get(key), revision)
  }

  /** Existing keys at a revision from `start` on, in order; all of them without an end. */
  *range(start: string, end: string | undefined, revision: number): Generator<Version, void, undefined> {
    for (const versions of this.#versions.valuesFrom(start)) {
      if (end !== undefined && versions[0]!.key >= end) return
      const version = existing(versions, revision)
      if (version) yield version
    }
  }

  /** The keys written in a revision. */
  changesOf(revision: number): readonly Version[] {
    return this.#changes[revision - emptyRevision - 1] ?? []
  }
}

function existing(versions: readonly Version[] = [], revision: number): Version | undefined {
  const version = versions.findLast(({ modRevision }) => modRevision <= revision)
  return version?.value === undefined ? undefined : version
}

export function keyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}

/** The exclusive end of a range, undefined for no end; an empty one means only the first key. */
export function rangeEnd(key: string, end: Uint8Array): string | undefined {
  if (end.length === 0) return `${key}\0`
  return end.length === 1 && end[0] === 0 ? undefined : keyText(end)
}
