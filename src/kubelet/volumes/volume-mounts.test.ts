import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nestedMountPoints } from './volume-mounts.ts'

/** Mounts as `volume:path`, one list per container; `v` is the volume under test. */
const cases: readonly (readonly [containers: readonly string[], expected: string])[] = [
  [['v:/etc/a'], ''],
  [['v:/etc/a other:/etc/b'], ''],
  [['v:/etc other:/etc/b'], 'b'],
  [['v:/etc/ other:/etc/b/'], 'b'],
  [['v:/etc other:/etc/b more:/etc/b/c'], 'b'],
  [['v:/etc other:/etc/b/c more:/etc/d'], 'b/c d'],
  [['v:/etc other:/etcetera'], ''],
  [['v:/etc other:/etc/b more:/etc/b-c'], 'b b-c'],
  [['v:/etc other:/etc/b', 'v:/srv other:/srv/b more:/srv/c'], 'b c'],
  [['v:/a v:/a/b'], 'b'],
]

test('nested volume mounts need a directory in the outer volume', () => {
  for (const [containers, expected] of cases) {
    const spec = {
      containers: containers.map((mounts, index) => ({
        name: `c${index}`,
        volumeMounts: mounts.split(' ').map(text => {
          const [name = '', mountPath = ''] = text.split(':')
          return { name, mountPath }
        }),
      })),
    }
    assert.equal(nestedMountPoints({ metadata: {}, spec }, 'v').join(' '), expected, containers.join(' | '))
  }
})

test('mount points outside of the container are rejected', () => {
  const spec = { containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '../x' }] }] }
  assert.throws(() => nestedMountPoints({ metadata: {}, spec }, 'v'), /invalid container mount point \.\.\/x/)
})
