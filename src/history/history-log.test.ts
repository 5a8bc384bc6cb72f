/**
 * The log in memory and in a folder of a simulated host, compared with a model; crashes, damage and
 * retention.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { openHistoryLog, type HistoryLog, type HistoryLogOptions } from './history-log.ts'
import type { RangeRecord } from './history-record.ts'
import { compareWithModel, HistoryModel, show } from './log/test-history-model.ts'

const hourMs = 3_600_000
const folder = '/history'
const places = [
  { name: 'in memory', folder: undefined },
  { name: 'in a folder', folder },
] as const

type Limits = Partial<Pick<HistoryLogOptions, 'folder' | 'maxAgeMs' | 'maxBytes' | 'segmentRawBytes'>>

class Bench {
  readonly simulation: Simulation
  readonly host: SimulatedHost
  readonly model = new HistoryModel()
  readonly #limits: Limits
  log!: HistoryLog

  constructor(limits: Limits, seed = 1) {
    this.simulation = new Simulation({ seed })
    this.host = this.simulation.host('server')
    this.#limits = limits
  }

  async open(): Promise<void> {
    const { clock, files, log } = this.host
    const defaults = { folder, maxAgeMs: 24 * hourMs, maxBytes: 100_000_000, segmentRawBytes: 2_000 }
    const options = { platform: { clock, files, log }, ...defaults, ...this.#limits }
    this.log = await this.simulation.run(openHistoryLog(options))
  }

  async reopen(): Promise<void> {
    await this.close()
    await this.open()
  }

  close(): Promise<void> {
    return this.run(Promise.resolve(this.log[Symbol.asyncDispose]()))
  }

  async crash(): Promise<void> {
    this.host.crash()
    await this.simulation.advance(1)
    this.host.restart()
    await this.open()
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return this.simulation.run(promise)
  }

  /** `5 a=x` puts, `7 a` deletes. */
  write(...writes: readonly string[]): void {
    const timeMs = this.host.clock.now()
    const records = writes.map(write => {
      const [revision = '', key = '', value] = write.split(/[ =]/)
      return this.model.write({ revision: Number(revision), timeMs, key: `/r/${key}`, value })
    })
    this.log.append(records)
  }

  async at(revision: number, key: string): Promise<string> {
    const state = await this.run(this.log.at(`/r/${key}`, revision))
    return state.type === 'version' ? `${state.revision} ${Buffer.from(state.value).toString()}` : state.type
  }

  async versions(key: string, options?: { beforeRevision?: number; limit?: number }): Promise<number[]> {
    const versions = await this.run(Array.fromAsync(this.log.versions(`/r/${key}`, options)))
    return versions.map(({ revision }) => revision)
  }

  async range(options: Parameters<HistoryLog['range']>[0]): Promise<number[]> {
    return (await this.run(Array.fromAsync(this.log.range(options)))).flat().map(({ revision }) => revision)
  }

  /** Names of the files with the given extension. */
  async files(extension: string): Promise<string[]> {
    const names = await this.run(this.host.files.list(folder))
    return names.filter(name => name.endsWith(extension))
  }
}

async function openBench(limits: Limits = {}, seed = 1): Promise<Bench> {
  const bench = new Bench(limits, seed)
  await bench.open()
  return bench
}

/** Number of random histories. */
const seeds = 8

/** A value that fills a segment. */
const large = 'x'.repeat(2_000)

for (const { name, folder: place } of places) {
  test(`an empty log ${name} retains nothing`, async () => {
    const bench = await openBench({ folder: place })
    assert.equal(bench.log.lastRevision, 0)
    assert.equal(await bench.run(bench.log.retainedSince()), undefined)
    assert.equal(await bench.run(bench.log.revisionAt(bench.host.clock.now())), undefined)
    assert.equal(await bench.at(5, 'a'), 'expired')
    assert.deepEqual(await bench.versions('a'), [])
    assert.deepEqual(await bench.range({ afterRevision: 0 }), [])
  })

  for (const flushed of [false, true]) {
    const state = flushed ? 'written' : 'buffered'
    test(`${state} records of a log ${name} are read by key, revision and range`, async () => {
      const bench = await openBench({ folder: place })
      bench.model.write({ revision: 3, timeMs: 0, key: '/r/old', value: 'o' })
      bench.write('10 a=1', '11 b=1', '13 a=2', '14 old=p', '15 a')
      bench.write('17 a=3')
      if (flushed) await bench.simulation.advance(2_000)
      const cases: [number, string, string][] = [
        [9, 'a', 'absent'],
        [10, 'a', '10 1'],
        [12, 'a', '10 1'],
        [13, 'a', '13 2'],
        [15, 'a', 'absent'],
        [20, 'a', '17 3'],
        [9, 'old', '3 o'],
        [14, 'old', '14 p'],
        [12, 'never', 'unchanged'],
        [8, 'a', 'expired'],
      ]
      for (const [revision, key, expected] of cases)
        assert.equal(await bench.at(revision, key), expected, `${key} at ${revision}`)
      assert.deepEqual(await bench.versions('a'), [17, 15, 13, 10])
      assert.deepEqual(await bench.versions('a', { limit: 2 }), [17, 15])
      assert.deepEqual(await bench.versions('a', { beforeRevision: 15, limit: 5 }), [13, 10])
      assert.deepEqual(await bench.range({ afterRevision: 10, untilRevision: 14 }), [11, 13, 14])
      assert.deepEqual(await bench.range({ afterRevision: 0, prefixes: ['/r/b', '/r/o'] }), [11, 14])
      assert.equal((await bench.run(bench.log.retainedSince()))?.revision, 9)
      const lists = await bench.run(Array.fromAsync(bench.log.listAt('/r/', 13)))
      assert.deepEqual(lists.map(({ key, state }) => `${key} ${state.type}`).sort(), [
        '/r/a version',
        '/r/b version',
        '/r/old version',
      ])
    })
  }

  test(`a log ${name} ignores records that it has`, async () => {
    const bench = await openBench({ folder: place })
    bench.write('5 a=1', '6 a=2')
    bench.log.append(bench.model.records)
    assert.equal(bench.log.lastRevision, 6)
    assert.deepEqual(await bench.versions('a'), [6, 5])
  })

  test(`a log ${name} finds the revision at a time`, async () => {
    const bench = await openBench({ folder: place })
    const startMs = bench.host.clock.now()
    for (let revision = 1; revision <= 9; revision++) {
      bench.write(`${revision} a=${large}`)
      await bench.simulation.advance(10_000)
    }
    for (const [afterMs, expected] of [
      [-1, undefined],
      [0, 1],
      [9_999, 1],
      [10_000, 2],
      [45_000, 5],
      [1e9, 9],
    ] as const)
      assert.equal(await bench.run(bench.log.revisionAt(startMs + afterMs)), expected, `${afterMs}`)
  })

  test(`a log ${name} removes what is older than its maximum age, also when nothing is written`, async () => {
    const bench = await openBench({ folder: place, maxAgeMs: 8 * hourMs })
    const startMs = bench.host.clock.now()
    bench.write('1 a=1', '2 b=1')
    await bench.simulation.advance(2 * hourMs)
    bench.write('3 a=2')
    await bench.simulation.advance(7 * hourMs)
    const since = await bench.run(bench.log.retainedSince())
    assert.deepEqual(since, { revision: 2, timeMs: Math.floor(startMs) })
    assert.deepEqual(await bench.versions('b'), [])
    assert.equal(await bench.at(2, 'a'), '1 1')
    assert.equal(await bench.at(2, 'b'), 'unchanged')
    assert.equal(await bench.at(1, 'a'), 'expired')
    await bench.simulation.advance(24 * hourMs)
    assert.equal((await bench.run(bench.log.retainedSince()))?.revision, 3)
    assert.deepEqual(await bench.range({ afterRevision: 0 }), [])
    if (place) await bench.reopen()
    assert.equal(bench.log.lastRevision, 3)
    assert.equal((await bench.run(bench.log.retainedSince()))?.revision, 3)
  })

  test(`a log ${name} removes what exceeds its maximum size`, async () => {
    const bench = await openBench({ folder: place, maxBytes: 40_000, segmentRawBytes: 5_000 })
    const random = new SeededRandom('values')
    for (let revision = 1; revision <= 100; revision++) {
      bench.write(`${revision} k${revision % 5}=${Buffer.from(random.bytes(700)).toString('hex')}`)
      if (revision % 10 === 0) await bench.simulation.advance(2_000)
    }
    const since = await bench.run(bench.log.retainedSince())
    assert.ok(since && since.revision > 60 && since.revision < 95, `${since?.revision}`)
    assert.equal((await bench.range({ afterRevision: 0 }))[0], since.revision + 1)
    if (place) assert.ok(bench.host.disk.usedBytes <= 41_000, `${bench.host.disk.usedBytes}`)
  })

  test(`after a gap a log ${name} has the versions before it, but no states`, async () => {
    const bench = await openBench({ folder: place })
    bench.write('1 a=1', '2 b=1')
    bench.log.noteGap()
    // Not recorded: revision 3 changes b.
    bench.model.write({ revision: 3, timeMs: 0, key: '/r/b', value: '2' })
    bench.write('10 b=3')
    if (place) await bench.reopen()
    assert.equal((await bench.run(bench.log.retainedSince()))?.revision, 9)
    assert.equal(await bench.at(2, 'b'), 'expired')
    assert.equal(await bench.at(9, 'b'), '3 2')
    assert.equal(await bench.at(9, 'a'), 'unchanged')
    assert.deepEqual(await bench.versions('b'), [10, 2])
    assert.deepEqual(await bench.range({ afterRevision: 0 }), [1, 2, 10])
  })

  test(`a log ${name} starts over after a reset`, async () => {
    const bench = await openBench({ folder: place })
    bench.write('5 a=1', `6 a=${large}`, '7 a=3')
    await bench.simulation.advance(2_000)
    await bench.run(bench.log.reset())
    assert.equal(bench.log.lastRevision, 0)
    if (place) {
      await bench.reopen()
      assert.deepEqual(await bench.files(''), [])
    }
    const older = new HistoryModel()
    bench.log.append([
      older.write({ revision: 2, timeMs: bench.host.clock.now(), key: '/r/a', value: 'other' }),
    ])
    assert.deepEqual(await bench.versions('a'), [2])
    assert.equal(await bench.at(2, 'a'), '2 other')
  })

  test(`random histories of a log ${name} equal a model`, async () => {
    for (let seed = 1; seed <= seeds; seed++) await compareRandomHistory(seed, place)
  })
}

async function compareRandomHistory(seed: number, place: string | undefined): Promise<void> {
  const random = new SeededRandom(`history ${seed}`)
  const limits = {
    folder: place,
    maxAgeMs: random.integer(2) === 0 ? 60_000 : 24 * hourMs,
    maxBytes: random.integer(2) === 0 ? 6_000 : 1_000_000,
    segmentRawBytes: 500 + random.integer(4_000),
  }
  const bench = await openBench(limits, seed)
  const keys = Array.from({ length: 8 }, (_, index) => `/r/key-${index}`)
  let revision = random.integer(3)
  for (let step = 0; step < 25; step++) {
    const records = Array.from({ length: random.integer(12) }, () => {
      revision += 1 + random.integer(2)
      const key = keys[random.integer(keys.length)]!
      const isDeletion = bench.model.exists(key) && random.integer(4) === 0
      const value = isDeletion
        ? undefined
        : Buffer.from(random.bytes(random.integer(200))).toString('hex') + revision
      return bench.model.write({ revision, timeMs: bench.host.clock.now(), key, value })
    })
    bench.log.append(records)
    const action = random.integer(8)
    if (action < 3) await bench.simulation.advance(random.integer(3_000))
    else if (action === 3) await bench.simulation.advance(random.integer(20_000))
    else if (action === 4 && place) await bench.reopen()
    else if (action === 5 && place) await bench.crash()
    else if (action === 6) bench.log.noteGap()
    // As after every restart, what the store has is replayed.
    const { lastRevision } = bench.log
    bench.log.append(bench.model.records.filter(record => record.revision > lastRevision))
    if (step % 4 !== 3) continue
    const revisions = Array.from({ length: 3 }, () => random.integer(revision + 3))
    await bench.run(compareWithModel(bench.log, { model: bench.model, keys, revisions }))
  }
  await bench.close()
}

test('records reach the disk within two seconds, and nothing is scheduled afterwards', async () => {
  const bench = await openBench()
  bench.write('1 a=1')
  await bench.simulation.advance(2_000)
  assert.ok(await bench.simulation.settle(0))
  bench.write('2 a=2')
  await bench.crash()
  assert.equal(bench.log.lastRevision, 0, 'a journal is not synced, so a machine that crashes loses it')
  bench.write('3 a=3')
  await bench.reopen()
  assert.deepEqual(await bench.versions('a'), [3])
})

test('the first record, and that after a gap, are written at once', async () => {
  const bench = await openBench()
  const names = async (): Promise<number> => (await bench.files('.journal')).length
  bench.write('1 a=1')
  await bench.simulation.advance(10)
  const [first = ''] = await bench.files('.journal')
  const status = await bench.run(bench.host.files.stat(join(folder, first)))
  assert.ok(status && status.sizeBytes > 24, 'more than the header')
  bench.log.noteGap()
  await bench.simulation.advance(10)
  assert.equal(await names(), 0)
  bench.write('5 a=5')
  await bench.simulation.advance(10)
  assert.equal(await names(), 1)
})

test('a sealed segment survives a crash of the machine', async () => {
  const bench = await openBench()
  bench.write(`1 a=${large}`, '2 a=1')
  await bench.simulation.advance(2_000)
  await bench.crash()
  assert.deepEqual(await bench.versions('a'), [1])
  assert.equal(bench.log.lastRevision, 1)
})

test('a torn tail of a journal is cut off at every length', async () => {
  const bench = await openBench({ segmentRawBytes: 1_000_000 })
  for (let revision = 1; revision <= 4; revision++) {
    bench.write(`${revision} a=${revision}`)
    await bench.simulation.advance(2_000)
  }
  await bench.close()
  const [name = ''] = await bench.files('.journal')
  const path = join(folder, name)
  const whole = Uint8Array.from(await bench.run(bench.host.files.read(path)))
  let lastRevision = 4
  for (let length = whole.length; length >= 0; length -= 7) {
    await bench.run(bench.host.files.write(path, whole.subarray(0, length)))
    await bench.open()
    assert.ok(bench.log.lastRevision <= lastRevision && bench.log.lastRevision >= lastRevision - 1)
    lastRevision = bench.log.lastRevision
    // Appended behind the last complete frame.
    bench.log.append(bench.model.records.filter(({ revision }) => revision > lastRevision))
    bench.write()
    await bench.reopen()
    assert.deepEqual(await bench.versions('a'), [4, 3, 2, 1], `${length} bytes`)
    await bench.close()
    for (const other of await bench.files('')) await bench.run(bench.host.files.remove(join(folder, other)))
  }
  assert.equal(lastRevision, 0)
})

test('a damaged segment is skipped, and states before it are not retained', async () => {
  for (const isOpen of [false, true]) {
    const damages = isOpen ? openDamages : (['flip-bit', 'truncate', ...openDamages] as const)
    for (const damage of damages) {
      const bench = await openBench()
      for (let revision = 1; revision <= 5; revision++) bench.write(`${revision} a=${revision}${large}`)
      await bench.simulation.advance(2_000)
      const path = join(folder, (await bench.files('.segment'))[2]!)
      if (!isOpen) await bench.close()
      bench.host.disk.damage(path, damage)
      if (!isOpen) await bench.open()
      const versions = await bench.versions('a')
      assert.deepEqual(versions, [5, 4, 2, 1], `${damage}, ${isOpen}`)
      assert.equal((await bench.run(bench.log.retainedSince()))?.revision, 3)
      const isKnown = isOpen || damage !== 'delete'
      assert.equal(bench.log.status.damagedSegments, isKnown ? 1 : 0)
      assert.equal(await bench.at(2, 'a'), 'expired')
      assert.equal(await bench.at(4, 'a'), `4 4${large}`)
    }
  }
})

/** Of the whole file: the trailer is not read again while the log is open. */
const openDamages = ['zero-sector', 'delete'] as const

test('a full disk delays what is written, and a disk that stays full makes a gap', async () => {
  const bench = await openBench()
  bench.write(`1 a=${large}`)
  await bench.simulation.advance(2_000)
  bench.host.disk.setFaults({ errorRate: 1 })
  bench.write(`2 a=${large}`, '3 b=1')
  await bench.simulation.advance(60_000)
  assert.deepEqual(await bench.versions('a'), [2, 1], 'buffered records are read')
  const { failure, writeFailures, lostRecords } = bench.log.status
  assert.match(failure ?? '', /./)
  assert.ok(writeFailures >= 5, `${writeFailures}`)
  assert.equal(lostRecords, 0)
  bench.host.disk.setFaults({ errorRate: 0 })
  await bench.simulation.advance(20_000)
  await bench.reopen()
  assert.deepEqual(await bench.range({ afterRevision: 0 }), [1, 2, 3])
  bench.host.disk.setFaults({ errorRate: 1 })
  for (let revision = 4; revision <= 20; revision++) {
    bench.write(`${revision} a=${revision}${large}`)
    await bench.simulation.advance(1_000)
  }
  bench.host.disk.setFaults({ errorRate: 0 })
  await bench.simulation.advance(20_000)
  bench.write('21 a=21')
  assert.ok(bench.log.status.lostRecords > 0)
  assert.equal(bench.log.status.failure, undefined)
  const since = await bench.run(bench.log.retainedSince())
  assert.ok(since && since.revision > 4, `${since?.revision}`)
  assert.equal(await bench.at(3, 'a'), 'expired')
  assert.equal(await bench.at(since.revision, 'b'), 'unchanged')
  await bench.reopen()
  assert.deepEqual(await bench.run(bench.log.retainedSince()), since)
  const revisions = await bench.range({ afterRevision: 0 })
  assert.deepEqual([...revisions.slice(0, 3), revisions.at(-1)], [1, 2, 3, 21])
  assert.ok(revisions.length < 21)
})

test('a quiet log is packed when it is sealed', async () => {
  const bench = await openBench({ segmentRawBytes: 40_000 })
  for (let revision = 1; revision <= 21; revision++) {
    bench.write(`${revision} a=${revision}${large}`)
    await bench.simulation.advance(1_500)
  }
  const [name = ''] = await bench.files('.segment')
  const status = await bench.run(bench.host.files.stat(join(folder, name)))
  assert.ok(status && status.sizeBytes < 1_500, `${status?.sizeBytes}`)
  assert.equal((await bench.files('.journal')).length, 1)
})

test('values larger than a frame, and empty ones, are read back', async () => {
  const bench = await openBench({ segmentRawBytes: 8_000_000 })
  const noise = Buffer.from(new SeededRandom('noise').bytes(700_000)).toString('hex')
  bench.write('1 a=', `2 b=${noise}`, '3 a=x', `4 b=${noise}4`, '5 c=')
  for (let round = 0; round < 2; round++) {
    await bench.simulation.advance(2_000)
    assert.equal(await bench.at(2, 'a'), '1 ')
    assert.equal(await bench.at(3, 'b'), `2 ${noise}`)
    assert.equal(await bench.at(5, 'b'), `4 ${noise}4`)
    assert.equal(await bench.at(5, 'c'), '5 ')
    // Sealed by its age.
    await bench.simulation.advance(12 * hourMs)
  }
  assert.equal((await bench.files('.segment')).length, 1)
})

test('a read during which its segment is removed answers what is retained', async () => {
  const bench = await openBench({ maxAgeMs: 8 * hourMs })
  for (let revision = 1; revision <= 3; revision++) bench.write(`${revision} a=${revision}${large}`)
  await bench.simulation.advance(2_000)
  const reading = bench.log.versions('/r/a')[Symbol.asyncIterator]()
  const first = await bench.run(reading.next())
  assert.equal(first.value?.revision, 3)
  await bench.simulation.advance(24 * hourMs)
  await bench.run(bench.log.retainedSince())
  assert.equal((await bench.run(reading.next())).done, true)
})

test('a read during which the open segment is sealed has its records', async () => {
  // The reader is in the segment before, or in the open one.
  for (const batches of [1, 3]) {
    const bench = await openBench()
    for (let revision = 1; revision <= 300; revision++) bench.write(`${revision} a=${revision}`)
    bench.write(`301 a=${large}`)
    for (let revision = 302; revision <= 600; revision++) bench.write(`${revision} b=${revision}`)
    const reading = bench.log.range({ afterRevision: 0, withValues: true })[Symbol.asyncIterator]()
    const records: RangeRecord[] = []
    for (let count = 0; count < batches; count++) records.push(...(await bench.run(reading.next())).value!)
    bench.write(`601 c=${large}`, '602 d=602')
    await bench.simulation.advance(2_000)
    // Uses the memory of the sealed segments.
    for (let revision = 603; revision <= 2_000; revision++) bench.write(`${revision} d=${revision}`)
    for (let next = await bench.run(reading.next()); !next.done; next = await bench.run(reading.next()))
      records.push(...next.value)
    const shown = records.map(record => show({ ...record, value: record.value! }).slice(0, 100))
    const expected = bench.model.records.slice(0, 600).map(record => show(record).slice(0, 100))
    assert.deepEqual(shown, expected, `${batches}`)
  }
})

test('a log in real files is read after its process was killed', async t => {
  const real = await temporaryFolder(t)
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const path = join(real, 'history')
  const limits = { maxAgeMs: 24 * hourMs, maxBytes: 10_000_000, segmentRawBytes: 30_000 }
  const open = (): Promise<HistoryLog> => openHistoryLog({ platform, folder: path, ...limits })
  const model = new HistoryModel()
  const first = await open()
  for (let revision = 1; revision <= 50; revision++) {
    const timeMs = platform.clock.now()
    first.append([model.write({ revision, timeMs, key: `/r/${revision % 3}`, value: large + revision })])
  }
  await first[Symbol.asyncDispose]()
  const { files } = platform
  const paths = (await files.list(path)).map(name => join(path, name))
  for (const file of paths) assert.equal((await files.stat(file))!.mode & 0o777, 0o600)
  const journal = paths.findLast(name => name.endsWith('.journal'))!
  await files.truncate(journal, (await files.stat(journal))!.sizeBytes - 1)
  await using second = await open()
  const { lastRevision } = second
  assert.ok(lastRevision >= 30 && lastRevision < 50, `${lastRevision}`)
  second.append(model.records.filter(({ revision }) => revision > lastRevision))
  const keys = ['/r/0', '/r/1', '/r/2']
  await compareWithModel(second, { model, keys, revisions: [0, 1, 17, lastRevision, 50] })
  assert.deepEqual((await Array.fromAsync(second.versions('/r/2'))).map(show).length, 17)
})
