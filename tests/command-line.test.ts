import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempDisposable, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../k8ts', import.meta.url))

function run(program: string, ...parameters: string[]) {
  const { status, stdout, stderr } = spawnSync(program, parameters, { encoding: 'utf8', cwd: tmpdir() })
  return { status, stdout, stderr }
}

test('k8ts version prints the version', () => {
  const { status, stdout, stderr } = run(script, 'version')
  assert.equal(status, 0)
  assert.match(stdout, /^k8ts \d+\.\d+\.\d+ \(Kubernetes v1\.36\)\n$/)
  assert.equal(stderr, '')
})

test('k8ts runs through symbolic links, absolute and relative', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'k8ts-links-'))
  await symlink(script, join(folder.path, 'first'))
  await symlink('first', join(folder.path, 'second'))
  assert.equal(run(join(folder.path, 'second'), 'version').status, 0)
})

test('--help prints to standard output, an unknown command to standard error with exit code 2', () => {
  assert.match(run(script, '--help').stdout, /^ {2}version +Show the version$/m)
  assert.match(run(script, 'version', '--help').stdout, /^Usage: k8ts version\n/)
  const wrong = run(script, 'fly')
  assert.deepEqual([wrong.status, wrong.stdout], [2, ''])
  assert.match(wrong.stderr, /unknown command "fly"/)
  assert.equal(run(script, 'version', 'extra').status, 2)
})
