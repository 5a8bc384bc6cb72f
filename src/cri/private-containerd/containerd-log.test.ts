import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { ContainerdLog, failureText, pluginFailureText } from './containerd-log.ts'

test('the bounded log rotates once when full, and both files stay bounded', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('node')
  const work = async (): Promise<void> => {
    await files.makeFolder('/data')
    await using log = new ContainerdLog(files, '/data/it.log')
    for (let count = 0; count < 100; count++) await log.append(Buffer.alloc(256 * 1_024, `line ${count}\n`))
    const sizes = await Promise.all(['/data/it.log', '/data/it.log.old'].map(path => files.stat(path)))
    for (const status of sizes)
      assert.ok(status && status.sizeBytes > 0 && status.sizeBytes <= 4 * 1_024 * 1_024)
    const tail = await log.tail()
    assert.match(tail, /line 99\n/)
    assert.ok(tail.length <= 4_000)
  }
  await simulation.run(work())
})

test('the bounded log counts the size left by earlier runs', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('node')
  const work = async (): Promise<void> => {
    await files.makeFolder('/data')
    for (let run = 0; run < 30; run++) {
      await using log = new ContainerdLog(files, '/data/it.log')
      await log.append(Buffer.alloc(512 * 1_024, `run ${run}\n`))
    }
    for (const path of ['/data/it.log', '/data/it.log.old']) {
      const { sizeBytes = 0 } = (await files.stat(path)) ?? {}
      assert.ok(sizeBytes > 0 && sizeBytes <= 4 * 1_024 * 1_024, `${path}: ${sizeBytes}`)
    }
  }
  await simulation.run(work())
})

test('the bounded log ignores write failures', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('node')
  const work = async (): Promise<void> => {
    await using log = new ContainerdLog(files, '/no/such/folder/it.log')
    await log.append(Buffer.from('first\n'))
    await log.append(Buffer.from('second\n'))
    assert.equal(await log.tail(), 'first\nsecond\n')
    await files.makeFolder('/no/such/folder')
    await log.append(Buffer.from('third\n'))
    assert.equal(Buffer.from(await files.read('/no/such/folder/it.log')).toString(), 'third\n')
    await log[Symbol.asyncDispose]()
    await log.append(Buffer.from('late\n'))
    assert.equal(Buffer.from(await files.read('/no/such/folder/it.log')).toString(), 'third\n')
  }
  await simulation.run(work())
})

const cases: readonly [said: string, expected: string][] = [
  ['', 'no output'],
  [
    'time="now" level=warning msg="harmless"\ncontainerd: failed to load TOML: line 3\n',
    'failed to load TOML: line 3',
  ],
  [
    'time="now" level=error msg="cannot serve" error="listen unix \\"x\\": in use"\ntime="now" level=info msg=bye\n',
    'cannot serve: listen unix "x": in use',
  ],
  ['time="now" level=fatal msg=gone\n', 'gone'],
  ['goroutine 1\npanic: nil map\n\ngoroutine 1 [running]:\nmain.go:1\n', 'panic: nil map'],
  ['sh: 1: exec: containerd: not found\n', 'sh: 1: exec: containerd: not found'],
]

test('the reason of a containerd exit is one line of its output', () => {
  for (const [said, expected] of cases) assert.equal(failureText(said), expected)
})

test('the reason of a containerd exit is the first failed plugin', () => {
  const said = [
    'time="now" level=warning msg="failed to load plugin io.containerd.metadata.v1.bolt" error="no space left"',
    'time="now" level=warning msg="failed to load plugin io.containerd.grpc.v1.cri" error="no metadata"',
  ].join('\n')
  assert.equal(pluginFailureText(said), 'failed to load plugin io.containerd.metadata.v1.bolt: no space left')
  assert.equal(pluginFailureText('containerd: something else'), 'something else')
})
