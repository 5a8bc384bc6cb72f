import assert from 'node:assert/strict'
import test from 'node:test'
import type { FileStep } from '../platform.ts'
import { Simulation, type DiskFaults, type SimulatedHost } from '../simulated.ts'
import type { DiskControl } from './disk-faults.ts'

/** The files of every case: four sectors of `a`, and two of `Z`. */
const initial = { '/data': 'a'.repeat(2_048), '/other': 'Z'.repeat(1_024) }

/** Seeds of each case. */
const seedsCount = 40

interface FaultCase {
  readonly faults: Partial<DiskFaults>
  /** Executed with the faults. */
  readonly act: (world: FaultyWorld) => Promise<unknown>
  /** All outcomes that may be observed, each by at least one seed. */
  readonly outcomes: readonly string[]
  /** With a crash before the files are read. */
  readonly crashes?: boolean
}

/** Bytes as `a1024 W512`; a run with one flipped bit as `W~512`. */
const cases: Record<string, FaultCase> = {
  'no fault': {
    faults: {},
    act: world => world.write(512, 512),
    outcomes: ['a512 W512 a1024 | Z1024'],
  },
  'a write that is stored with a flipped bit': {
    faults: { writeFlipRate: 1 },
    act: world => world.write(512, 512),
    outcomes: ['a512 W~512 a1024 | Z1024'],
  },
  'a flipped bit of a write after a crash': {
    faults: { writeFlipRate: 1 },
    act: world => world.write(512, 512),
    outcomes: ['a512 W~512 a1024 | Z1024'],
    crashes: true,
  },
  'an atomic write that is stored with a flipped bit': {
    faults: { writeFlipRate: 1 },
    act: ({ host }) => host.files.write('/data', 'W'.repeat(1_024)),
    outcomes: ['W~1024 | Z1024'],
  },
  'a lost write over old bytes': {
    faults: { lostWriteRate: 1 },
    act: world => world.write(512, 512),
    outcomes: ['a2048 | Z1024'],
  },
  'a lost write at the end': {
    faults: { lostWriteRate: 1 },
    act: world => world.write(2_048, 512),
    outcomes: ['a2048 .512 | Z1024'],
  },
  'a lost write at the end, after a crash': {
    faults: { lostWriteRate: 1 },
    act: world => world.write(2_048, 512),
    outcomes: ['a2048 .512 | Z1024', 'a2048 | Z1024'],
    crashes: true,
  },
  'a lost append': {
    faults: { lostWriteRate: 1 },
    act: async ({ host }) => {
      await using file = await host.files.openAppend('/data')
      await file.append(Buffer.from('W'.repeat(100)))
      await file.sync()
    },
    outcomes: ['a2048 .100 | Z1024', 'a2048 | Z1024'],
    crashes: true,
  },
  'a misdirected write': {
    faults: { misdirectedWriteRate: 1 },
    act: world => world.write(512, 512),
    outcomes: [
      'W512 a1536 | Z1024',
      'a1024 W512 a512 | Z1024',
      'a1536 W512 | Z1024',
      'a2048 | W512 Z512',
      'a2048 | Z512 W512',
    ],
  },
  'a misdirected write that does not begin at a sector': {
    faults: { misdirectedWriteRate: 1 },
    act: world => world.write(612, 10),
    outcomes: [
      'a100 W10 a1938 | Z1024',
      'a1124 W10 a914 | Z1024',
      'a1636 W10 a402 | Z1024',
      'a2048 | Z100 W10 Z914',
      'a2048 | Z612 W10 Z402',
    ],
  },
  'a misdirected write at the end, which extends no other file': {
    faults: { misdirectedWriteRate: 1 },
    act: world => world.write(2_048, 4_096),
    outcomes: [
      'W2048 .4096 | Z1024',
      'a1024 W1024 .4096 | Z1024',
      'a1536 W512 .4096 | Z1024',
      'a2048 .4096 | W1024',
      'a2048 .4096 | Z512 W512',
      'a512 W1536 .4096 | Z1024',
    ],
  },
  'a read that returned a flipped bit once': {
    faults: { readFlipRate: 1 },
    act: async ({ host }) => {
      assert.equal(describe(await host.files.read('/data')), 'a~2048')
      await using file = await host.files.openRead('/data')
      assert.equal(describe(file.read(512, 512)), 'a~512')
      assert.equal(describe(file.read(4_096, 512)), '')
    },
    outcomes: ['a2048 | Z1024'],
  },
  'a read that found a bit flipped for ever': {
    faults: { readRotRate: 1 },
    act: async ({ host }) => {
      await using file = await host.files.openRead('/data')
      assert.equal(describe(file.read(512, 512)), 'a~512')
    },
    outcomes: ['a~2048 | Z1024'],
  },
  'a read that fails': {
    faults: { readErrorRate: 1 },
    act: async ({ host }) => {
      await assert.rejects(host.files.read('/data'), { code: 'EIO' })
      await using file = await host.files.openRead('/data')
      assert.throws(() => file.read(0, 1), { code: 'EIO' })
    },
    outcomes: ['a2048 | Z1024'],
  },
  'bit rot of one file': {
    faults: {},
    act: async ({ disk }) => assert.match(disk.rot('/other') ?? '', /^\/other: bit \d of byte \d+ flipped$/),
    outcomes: ['a2048 | Z~1024'],
  },
  'bit rot of any file': {
    faults: {},
    act: async ({ disk }) => disk.rot(),
    outcomes: ['a2048 | Z~1024', 'a~2048 | Z1024'],
  },
  'a sync that stalls': {
    faults: { stallRate: 1, stallMs: 10_000 },
    act: async world => {
      const beganMs = world.host.clock.monotonicMs()
      await world.write(512, 512)
      assert(world.host.clock.monotonicMs() - beganMs >= 10_000)
    },
    outcomes: ['a512 W512 a1024 | Z1024'],
  },
  'the damage flip-bit': {
    faults: {},
    act: async ({ disk }) => disk.damage('/data', 'flip-bit'),
    outcomes: ['a~2048 | Z1024'],
  },
  'the damage zero-sector': {
    faults: {},
    act: async ({ disk }) => disk.damage('/data', 'zero-sector'),
    outcomes: ['.512 a1536', 'a1024 .512 a512', 'a1536 .512', 'a512 .512 a1024'].map(
      data => `${data} | Z1024`,
    ),
  },
  'the damage delete': {
    faults: {},
    act: async ({ disk }) => disk.damage('/data', 'delete'),
    outcomes: ['missing | Z1024'],
  },
  'the damage of swapped files': {
    faults: {},
    act: async ({ disk }) => disk.damage('/data', { swapWith: '/other' }),
    outcomes: ['Z1024 | a2048'],
  },
  'the damage of a file that is replaced by an older copy': {
    faults: {},
    act: async world => {
      const older = world.disk.durableContent('/data')
      await world.write(2_048, 512)
      assert.equal(describe(world.disk.durableContent('/data')), 'a2048 W512')
      world.disk.damage('/data', { replaceBy: older })
    },
    outcomes: ['a2048 | Z1024'],
  },
}

for (const [name, faultCase] of Object.entries(cases)) {
  test(`effect on a simulated disk: ${name}`, async () => {
    const outcomes = new Set<string>()
    for (let seed = 0; seed < seedsCount; seed++) outcomes.add((await observe(seed, faultCase)).outcome)
    assert.deepEqual([...outcomes].sort(), [...faultCase.outcomes].sort())
  })
}

test('the faults of a simulated disk are the same for the same seed', async () => {
  for (const faultCase of Object.values(cases)) {
    for (const seed of [1, 2, 3])
      assert.deepEqual(await observe(seed, faultCase), await observe(seed, faultCase))
  }
})

test('the damage truncate cuts the file to any smaller size', async () => {
  const sizes = new Set<number>()
  for (let seed = 0; seed < seedsCount; seed++) {
    const simulation = new Simulation({ seed })
    const { disk, files } = simulation.host('a')
    await simulation.run(files.write('/data', 'abc'))
    disk.damage('/data', 'truncate')
    const content = Buffer.from(await simulation.run(files.read('/data'))).toString()
    assert('abc'.startsWith(content))
    sizes.add(content.length)
  }
  assert.deepEqual(sizes, new Set([0, 1, 2]))
})

test('programs see damage only where they have not written since the last sync', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { disk, files } = simulation.host('a')
  await simulation.run(
    (async () => {
      await files.write('/data', 'aaaa')
      await using writer = await files.openWriter()
      await writer.perform([
        { type: 'write', path: '/data', positionBytes: 3, bytes: new Uint8Array([98, 98]) },
      ])
      disk.damage('/data', { replaceBy: Buffer.from('c') })
      assert.equal(Buffer.from(await files.read('/data')).toString(), 'c\0\0bb')
    })(),
  )
})

test('rot and damage of an empty disk or file', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { disk, files } = simulation.host('a')
  assert.equal(disk.rot(), undefined)
  await simulation.run(files.write('/empty', ''))
  assert.equal(disk.rot('/empty'), undefined)
  assert.throws(() => disk.damage('/empty', 'flip-bit'), /no durable content/)
  assert.throws(() => disk.damage('/none', 'delete'), { code: 'ENOENT' })
})

test('faults of a disk that lies occur at their rates', async () => {
  const simulation = new Simulation({ seed: 5, disk: { writeFlipRate: 0.3 } })
  const { files } = simulation.host('a')
  let flipped = 0
  for (let write = 0; write < 200; write++) {
    await simulation.run(files.write('/a', 'aaaa'))
    if (describe(await simulation.run(files.read('/a'))) !== 'a4') flipped++
  }
  assert(flipped > 30 && flipped < 90, `${flipped} of 200 flipped`)
})

interface FaultyWorld {
  readonly host: SimulatedHost
  readonly disk: DiskControl
  /** Writes and syncs `W`s into `/data`. */
  readonly write: (positionBytes: number, sizeBytes: number) => Promise<void>
}

async function observe(seed: number, { faults, act, crashes = false }: FaultCase) {
  const simulation = new Simulation({ seed })
  const host = simulation.host('a')
  for (const [path, content] of Object.entries(initial)) await simulation.run(host.files.write(path, content))
  const write = async (positionBytes: number, sizeBytes: number): Promise<void> => {
    await using writer = await host.files.openWriter()
    const bytes = new Uint8Array(Buffer.from('W'.repeat(sizeBytes)))
    const step: FileStep = { type: 'write', path: '/data', positionBytes, bytes }
    await writer.perform([step, { type: 'sync', path: '/data' }])
  }
  const sound = host.disk.faults
  host.disk.setFaults(faults)
  await simulation.run(act({ host, disk: host.disk, write }))
  host.disk.setFaults(sound)
  if (crashes) {
    host.crash()
    await simulation.run(simulation.clock.sleep(1))
    host.restart()
  }
  const contents = Object.keys(initial).map(async path => {
    return (await host.files.stat(path)) === undefined ? 'missing' : describe(await host.files.read(path))
  })
  const outcome = (await simulation.run(Promise.all(contents))).join(' | ')
  return { outcome, traceHash: simulation.traceHash() }
}

/** The runs of equal bytes. */
function describe(content: Uint8Array): string {
  const runs: { letter: string; sizeBytes: number; flips: number }[] = []
  for (const byte of content) {
    const { letter, flips } = letterOf(byte)
    if (runs.at(-1)?.letter !== letter) runs.push({ letter, sizeBytes: 0, flips: 0 })
    const run = runs.at(-1)!
    run.sizeBytes++
    run.flips += flips
  }
  return runs.map(run => `${run.letter}${'~'.repeat(run.flips)}${run.sizeBytes}`).join(' ')
}

/** The letters of this test differ from each other in three bits or more, so that one flipped bit is recognized. */
function letterOf(byte: number): { letter: string; flips: number } {
  for (const [letter, expected] of Object.entries({ 'a': 0x61, 'Z': 0x5a, 'W': 0x57, '.': 0 })) {
    const flips = (byte ^ expected).toString(2).replaceAll('0', '').length
    if (flips <= 1) return { letter, flips }
  }
  return { letter: '?', flips: 0 }
}
