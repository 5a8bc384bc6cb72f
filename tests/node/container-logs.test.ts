/** Log rotation with real containers: no line is lost. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { containerConfig, sandboxConfig } from '#/cri/test-configs.ts'
import { ContainerLogs } from '#/kubelet/container-logs.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'
import { busyboxReference } from './test-images.ts'
import { waitUntil } from '../wait-until.ts'

/** Endless numbered lines with padding, so that files fill up. */
const talk = `i=0; while :; do i=$((i+1)); echo "$i ${'x'.repeat(50)}"; usleep 500; done`

test('rotating a log while it is written loses no line', { skip: containersMissing }, async () => {
  await using node = await TestContainerd.start()
  const { runtime, platform, linux, cgroupParent } = node
  const logFolder = join(node.folder, 'logs')
  const sandbox = sandboxConfig('talker', { logFolder, cgroupParent })
  const sandboxId = await runtime.runPodSandbox(sandbox)
  const { id: image } = (await runtime.imageStatus(busyboxReference))!
  const config = containerConfig('it', { image, userImage: busyboxReference, command: ['sh', '-c', talk] })
  const containerId = await runtime.createContainer({ sandboxId, sandbox, config })
  await runtime.startContainer(containerId)
  const path = join(logFolder, config.logPath)
  // Names of rotated files have a resolution of one second.
  let rotations = 0
  const clock = { ...platform.clock, now: () => platform.clock.now() + rotations * 1_000 }
  const logs = new ContainerLogs({
    platform: { ...platform, clock },
    files: linux.files,
    runtime,
    // A high limit, so that no file is deleted.
    node: { containerLog: { maxBytes: 20_000, maxFiles: 1_000 } },
    running: () => [{ containerId, path }],
  })
  const { signal } = new AbortController()
  const folder = join(logFolder, 'it')
  const said = async (): Promise<{
    readonly names: readonly string[]
    readonly numbers: readonly number[]
  }> => {
    // The current file sorts first and is the newest.
    const [current = '', ...rotated] = (await readdir(folder)).sort()
    const names = [...rotated, current]
    const contents = await Promise.all(
      names.map(async name => {
        const bytes = await readFile(join(folder, name))
        return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
      }),
    )
    const written = contents.join('').split('\n').slice(0, -1)
    return { names, numbers: written.map(line => Number(line.split(' ')[3])) }
  }
  await waitUntil(async () => {
    await logs.rotate(signal)
    rotations++
    return (await readdir(folder)).length >= 4
  })
  await runtime.stopContainer(containerId, 0)
  const { names, numbers } = await said()
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, index) => index + 1),
  )
  assert.ok(numbers.length > 100)
  const [first = '', ...others] = names
  assert.match(first, /^0\.log\.\d{8}-\d{6}\.gz$/)
  assert.equal(others.at(-1), '0.log')
})
