import { tarEnd, tarHeader, tarPadding, type TarMember } from '#/base/tar.ts'
import type { Files, FileStatus } from '#/platform/platform.ts'

export interface LocalArchiveOptions {
  readonly files: Files
  /** Absolute. */
  readonly source: string
  /** Of the source in the archive. */
  readonly name: string
}

/** Depth of folders. */
const depthMax = 1_000

const pieceBytes = 256 * 1024

/** A tar archive of a file or folder. Folders are entries only if they are empty: tar creates the others. */
export async function* localArchive(
  options: LocalArchiveOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { files, source, name } = options
  const pending = [{ path: source, name, depth: 0 }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { path, depth } = next
    const target = await files.readLink(path)
    if (target !== undefined) {
      yield tarHeader({ type: 'symlink', path: next.name, target, mode: 0o777 })
      continue
    }
    const status = await files.stat(path)
    if (status === undefined) throw new Error(`lstat ${path}: no such file or directory`)
    if (status.isFolder) {
      if (depth === depthMax) throw new Error(`${path}: folders are nested too deeply`)
      const names = await files.list(path)
      if (names.length === 0) yield tarHeader({ ...attributesOf(status), type: 'folder', path: next.name })
      for (const each of names.toReversed()) {
        pending.push({ path: `${path}/${each}`, name: `${next.name}/${each}`, depth: depth + 1 })
      }
    } else if (status.isFile) yield* archivedFile(files, { path, name: next.name, status })
    else throw new Error(`${path}: only files, folders and symbolic links can be copied`)
  }
  yield tarEnd
}

async function* archivedFile(
  files: Files,
  { path, name, status }: { readonly path: string; readonly name: string; readonly status: FileStatus },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { sizeBytes } = status
  yield tarHeader({ ...attributesOf(status), type: 'file', path: name, sizeBytes })
  await using file = await files.openRead(path)
  for (let at = 0; at < sizeBytes;) {
    const piece = file.read(at, Math.min(pieceBytes, sizeBytes - at))
    if (piece.length === 0) throw new Error(`${path}: the file has become shorter while it was copied`)
    yield piece
    at += piece.length
  }
  yield tarPadding(sizeBytes)
}

function attributesOf({
  mode,
  uid,
  gid,
  modifiedMs,
}: FileStatus): Pick<TarMember, 'mode' | 'uid' | 'gid' | 'modifiedMs'> {
  return { mode, uid, gid, modifiedMs }
}
