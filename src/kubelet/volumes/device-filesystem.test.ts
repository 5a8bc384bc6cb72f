import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation, SimulatedLinux } from '#/platform/simulated.ts'
import { mountDevice } from './device-filesystem.ts'

/** A machine with an empty device and without programs that make filesystems. */
class EmptyLinux extends SimulatedLinux {
  override async run([program]: readonly string[]): Promise<string> {
    if (program === 'blkid') throw Object.assign(new Error('blkid: nothing'), { exitCode: 2 })
    throw Object.assign(new Error(`spawn ${program} ENOENT`), { code: 'ENOENT' })
  }
}

const cases: readonly [type: string, reason: string][] = [
  ['ext4', 'mkfs.ext4 is not installed on this node: install the package e2fsprogs'],
  ['xfs', 'mkfs.xfs is not installed on this node: install the package xfsprogs'],
  ['other', 'mkfs.other is not installed on this node'],
]

test('a missing mkfs program is reported with its package', async () => {
  const { files } = new Simulation({ seed: 1 }).host('node')
  const linux = new EmptyLinux({ files })
  const mount = { linux, device: '/dev/sdb', target: '/mnt', isReadonly: false, mountOptions: [] }
  for (const [type, reason] of cases) {
    const message = `format of disk "/dev/sdb" failed: ${reason}`
    await assert.rejects(mountDevice({ ...mount, type }), { message })
  }
})
