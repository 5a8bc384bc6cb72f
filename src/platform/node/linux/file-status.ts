import type { BigIntStats } from 'node:fs'
import type { LinuxFileStatus, LinuxFileType } from '../../linux.ts'

export function statusOf(stats: BigIntStats): LinuxFileStatus {
  return {
    type: typeOf(stats),
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    sizeBytes: Number(stats.size),
    inode: stats.ino,
    device: stats.dev,
  }
}

function typeOf(stats: BigIntStats): LinuxFileType {
  if (stats.isDirectory()) return 'folder'
  if (stats.isSymbolicLink()) return 'link'
  if (stats.isSocket()) return 'socket'
  if (stats.isCharacterDevice()) return 'character-device'
  if (stats.isBlockDevice()) return 'block-device'
  return stats.isFIFO() ? 'pipe' : 'file'
}
