import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hierarchiesOf } from './hierarchies.ts'

/** `folder controllers`. */
function found(...mounts: string[]): readonly string[] {
  const text = mounts.map((mount, index) => `${index} 1 0:${index} / ${mount}`).join('\n')
  return hierarchiesOf(text).map(({ folder, controllers }) => [folder, ...controllers].join(' '))
}

test('cgroup v1 hierarchies are found with their controllers', () => {
  assert.deepEqual(
    found(
      '/sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755',
      '/sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct',
      '/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
      '/sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd',
      '/sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
    ),
    [
      '/sys/fs/cgroup/cpu,cpuacct cpu cpuacct',
      '/sys/fs/cgroup/memory memory',
      '/sys/fs/cgroup/systemd',
      '/sys/fs/cgroup/unified',
    ],
  )
})

test('a hierarchy mounted twice is taken at its shorter path', () => {
  const short = '/cg/memory rw - cgroup cgroup rw,memory'
  const long = '/var/lib/other/cg/memory rw - cgroup cgroup rw,memory'
  assert.deepEqual(found(short, long), ['/cg/memory memory'])
  assert.deepEqual(found(long, short), ['/cg/memory memory'])
})

test('mount points with spaces are parsed, malformed lines are skipped', () => {
  assert.deepEqual(found('/my\\040cg rw - cgroup cgroup rw,pids'), ['/my cg pids'])
  assert.deepEqual(hierarchiesOf(''), [])
  assert.deepEqual(hierarchiesOf('nonsense - cgroup\n - \n-'), [])
})
