import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinuxFileStatus, LinuxFileType } from '#/platform/linux.ts'
import { groupMode, hasGroup } from './ownership.ts'

const modes: readonly (readonly [
  type: LinuxFileType,
  mode: number,
  rights: 'ro' | 'rw',
  expected: number,
])[] = [
  ['file', 0o600, 'rw', 0o660],
  ['file', 0o644, 'rw', 0o664],
  ['file', 0o755, 'rw', 0o775],
  ['file', 0o600, 'ro', 0o640],
  ['file', 0o400, 'ro', 0o440],
  ['folder', 0o777, 'rw', 0o2777],
  ['folder', 0o1777, 'ro', 0o3777],
  ['folder', 0o700, 'rw', 0o2770],
  ['folder', 0o700, 'ro', 0o2750],
  ['socket', 0o600, 'rw', 0o660],
]

test('fsGroup sets group permissions and setgid on directories', () => {
  for (const [type, mode, rights, expected] of modes) {
    const found = groupMode({ type, mode }, rights === 'ro')
    assert.equal(found.toString(8), expected.toString(8), `${type} ${mode.toString(8)} ${rights}`)
  }
})

const folder: LinuxFileStatus = {
  type: 'folder',
  mode: 0o2775,
  uid: 0,
  gid: 7,
  sizeBytes: 0,
  inode: 1n,
  device: 1n,
}

test('OnRootMismatch skips a volume whose root has the group', () => {
  assert.equal(hasGroup(folder, 7, false), true)
  assert.equal(hasGroup(folder, 8, false), false)
  assert.equal(hasGroup({ ...folder, mode: 0o775 }, 7, false), false, 'new files would not be')
  assert.equal(hasGroup({ ...folder, mode: 0o2755 }, 7, false), false)
  assert.equal(hasGroup({ ...folder, mode: 0o2755 }, 7, true), true)
  assert.equal(hasGroup({ ...folder, type: 'file' }, 7, false), false)
})
