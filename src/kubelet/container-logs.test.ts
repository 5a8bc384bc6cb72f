import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { CriError } from '#/cri/cri.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ContainerLogs, planRotation, rotatedName } from './container-logs.ts'

const path = '/logs/it/0.log'

class World {
  readonly simulation = new Simulation({ seed: 1 })
  readonly platform = this.simulation.host('node')
  readonly #logs: ContainerLogs
  isRunning = true
  isBroken = false
  reopened = 0

  constructor(maxBytes = 100) {
    const { files } = this.platform
    this.#logs = new ContainerLogs({
      platform: this.platform,
      files: {
        readRange: async (file, offset, length) => (await files.read(file)).subarray(offset, offset + length),
      },
      runtime: { reopenContainerLog: () => this.#reopen() },
      node: { containerLog: { maxBytes, maxFiles: 3 } },
      running: () => (this.isRunning ? [{ containerId: 'id', path }] : []),
    })
  }

  start(): void {
    void this.#logs.run(new AbortController().signal)
  }

  async write(text: string): Promise<void> {
    const { files } = this.platform
    await this.simulation.run(files.makeFolder('/logs/it'))
    const file = await this.simulation.run(files.openAppend(path))
    await this.simulation.run(file.append(Buffer.from(text)))
    await this.simulation.run(Promise.resolve(file[Symbol.asyncDispose]()))
  }

  /** File names and contents after some time. */
  async contents(): Promise<string[]> {
    await this.simulation.advance(15_000)
    const { files } = this.platform
    const names = await this.simulation.run(files.list('/logs/it'))
    const shown: string[] = []
    for (const name of names) {
      const bytes = await this.simulation.run(files.read(`/logs/it/${name}`))
      const text = (name.endsWith('.gz') ? gunzipSync(bytes) : Buffer.from(bytes)).toString()
      shown.push(`${name.replace(/\.\d{8}-\d{6}/, '.TIME')} ${text.length > 20 ? text.length : text}`)
    }
    return shown
  }

  async #reopen(): Promise<void> {
    if (this.isBroken) throw new CriError('unavailable', 'gone')
    this.reopened++
    await this.platform.files.write(path, '')
  }
}

test('a full log is rotated, and the newest files are kept', async () => {
  const world = new World()
  await world.write('a'.repeat(99))
  world.start()
  assert.deepEqual(await world.contents(), ['0.log 99'])
  await world.write('a')
  assert.deepEqual(await world.contents(), ['0.log ', '0.log.TIME 100'])
  await world.write('b'.repeat(101))
  assert.deepEqual(await world.contents(), ['0.log ', '0.log.TIME.gz 100', '0.log.TIME 101'])
  await world.write('c'.repeat(102))
  assert.deepEqual(await world.contents(), ['0.log ', '0.log.TIME.gz 101', '0.log.TIME 102'])
  assert.equal(world.reopened, 3)
})

test('a large rotated log is compressed as concatenated gzip members', async () => {
  const world = new World()
  await world.write('a'.repeat(300_000))
  world.start()
  await world.contents()
  await world.write('b'.repeat(101))
  assert.deepEqual(await world.contents(), ['0.log ', '0.log.TIME.gz 300000', '0.log.TIME 101'])
})

test('rotation loses nothing when reopening the log fails', async () => {
  const world = new World()
  world.isBroken = true
  await world.write('a'.repeat(100))
  world.start()
  assert.deepEqual(await world.contents(), ['0.log 100'])
  world.isBroken = false
  assert.deepEqual(await world.contents(), ['0.log ', '0.log.TIME 100'])
})

test('a removed log file is reopened, and the log of an exited container is not rotated', async () => {
  const world = new World()
  await world.write('a'.repeat(10))
  world.start()
  await world.simulation.run(world.platform.files.remove(path))
  assert.deepEqual(await world.contents(), ['0.log '])
  world.isRunning = false
  await world.simulation.advance(10_000)
  await world.write('a'.repeat(1_000))
  assert.deepEqual(await world.contents(), ['0.log 1000'])
})

test('rotation never leaves more than the maximum number of files', () => {
  const cases: readonly [names: string, maxFiles: number, remove: string, compress: string][] = [
    ['0.log', 5, '', ''],
    ['0.log 0.log.1', 5, '', '0.log.1'],
    ['0.log 0.log.1.gz 0.log.2', 5, '', '0.log.2'],
    ['0.log 0.log.1.gz 0.log.2.gz 0.log.3', 5, '', '0.log.3'],
    ['0.log 0.log.1.gz 0.log.2.gz 0.log.3.gz 0.log.4', 5, '0.log.1.gz', '0.log.4'],
    ['0.log 0.log.1 0.log.2 0.log.3 0.log.4 0.log.5', 4, '0.log.1 0.log.2 0.log.3', '0.log.4 0.log.5'],
    ['0.log 0.log.1', 2, '0.log.1', ''],
    ['0.log 0.log.1.gz', 1, '0.log.1.gz', ''],
    ['0.log 0.log.1 0.log.1.tmp', 5, '0.log.1.tmp', '0.log.1'],
    ['0.log 0.log.1 0.log.1.gz', 5, '0.log.1', ''],
    ['0.log 1.log 1.log.1 10.log.1 other', 5, '', ''],
  ]
  for (const [names, maxFiles, remove, compress] of cases) {
    const plan = planRotation(names.split(' '), '0.log', maxFiles)
    assert.deepEqual([plan.remove.join(' '), plan.compress.join(' ')], [remove, compress], names)
  }
})

test('names of rotated files sort by time', () => {
  assert.equal(rotatedName(Date.UTC(2026, 10, 5, 3, 4, 5, 678)), '20261105-030405')
})
