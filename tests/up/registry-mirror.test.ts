/** Wrong values of `--registry-mirror`, and clusters in which it would have no effect. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { run } from './process.ts'

test('an invalid registry mirror, or one without containers, is rejected in one line before the start', async t => {
  const data = join(await temporaryFolder(t), 'data')
  const check = (line: string, complaint: string): void => {
    const { status, stdout, stderr } = run('--port', '0', '--data-dir', data, ...line.split(' '))
    assert.deepEqual([status, stdout], [2, ''], `${line}: ${stderr}`)
    assert.equal(stderr, `k8ts up: ${complaint}\nSee k8ts up --help\n`)
    assert.equal(existsSync(data), false, line)
  }
  check(
    '--registry-mirror docker.io --detach',
    '--registry-mirror docker.io: docker.io is not HOST=URL, as in docker.io=https://mirror.example.com',
  )
  check(
    '--registry-mirror docker.io=http://a.example,quay=http://b.example',
    '--registry-mirror docker.io=http://a.example,quay=http://b.example: ' +
      'quay is not a registry: use a name such as docker.io, HOST:PORT, or _default',
  )
  const mirror = '--registry-mirror _default=http://a.example'
  const complaint = '--registry-mirror requires a node with containers'
  for (const without of ['--no-node', '--simulated-nodes 1', '--nodes 2 --runtime simulated']) {
    check(`${mirror} ${without}`, complaint)
  }
})
