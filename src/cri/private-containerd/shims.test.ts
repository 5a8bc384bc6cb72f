import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { killShim, shimOf } from './shims.ts'

test('a shim process is recognized by its command line', () => {
  const cases: readonly [words: string, expected: string | undefined][] = [
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s', 'abc'],
    ['containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s', 'abc'],
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /other', undefined],
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s start', undefined],
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s -bundle /b delete', undefined],
    ['grep containerd-shim-runc-v2 -id abc -address /s', undefined],
    ['/usr/bin/containerd-shim-runc-v2 -id', undefined],
    ['', undefined],
  ]
  for (const [words, expected] of cases) assert.equal(shimOf(7, words.split(' '), '/s')?.id, expected, words)
})

test('the shim of a sandbox is killed, no other, and its socket is removed', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('node')
  const socketPath = '/data/containerd.sock'
  const bundles = '/data/state/io.containerd.runtime.v2.task/k8s.io'
  const shim = (id: string): string =>
    ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'k8s.io', '-id', id, '-address', socketPath].join('\0')
  const given = {
    '/proc/7/cmdline': shim('a'),
    '/proc/8/cmdline': shim('b'),
    '/proc/9/cmdline': 'sleep\0-id\0a',
    [`${bundles}/a/address`]: 'unix:///run/containerd/s/0a',
    [`${bundles}/b/bootstrap.json`]: '{"version":2,"address":"unix:///run/containerd/s/0b"}',
    '/run/containerd/s/0a': '',
    '/run/containerd/s/0b': '',
  }
  const commands: string[] = []
  const run = async (command: readonly string[]): Promise<string> => {
    commands.push(command.join(' '))
    return ''
  }
  const options = { platform: { files }, linux: { run }, folder: '/data', socketPath }
  const work = async (): Promise<void> => {
    for (const [path, text] of Object.entries(given)) {
      await files.makeFolder(path.slice(0, path.lastIndexOf('/')))
      await files.write(path, text)
    }
    await killShim(options, 'a')
    assert.deepEqual(await files.list('/run/containerd/s'), ['0b'])
    await killShim(options, 'b')
    assert.deepEqual(await files.list('/run/containerd/s'), [])
    await killShim(options, 'c')
  }
  await simulation.run(work())
  assert.deepEqual(commands, ['sh -c kill -9 7 || :', 'sh -c kill -9 8 || :'])
})
