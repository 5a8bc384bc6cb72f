import assert from 'node:assert/strict'
import test from 'node:test'
import type { FileStep } from '../platform.ts'
import { Simulation, type SimulatedHost } from '../simulated.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)

test('synced data survives every crash; of an unsynced write all, nothing, a prefix or some sectors', async () => {
  const seen = { all: 0, none: 0, prefix: 0, holes: 0, garbage: 0 }
  for (let seed = 0; seed < 100; seed++) {
    const { simulation, host } = start(seed)
    const tail = 'abcdefghij'.repeat(200)
    await simulation.run(
      (async () => {
        const file = await host.files.openAppend('/log')
        await file.append(bytes('safe'))
        await file.sync()
        await file.append(bytes(tail))
      })(),
    )
    const after = await crashAndRead(simulation, host, '/log')
    assert(after.startsWith('safe'), `seed ${seed} lost what was synced`)
    seen[outcome(sectors(after), sectors(`safe${tail}`))]++
  }
  for (const [kind, count] of Object.entries(seen)) assert(count > 0, `no seed gave ${kind}`)
})

function sectors(content: string): string[] {
  return content.match(/.{1,512}/gs) ?? []
}

/** Only one sector may contain bytes that were never written, and it is the last of those that were kept. */
function outcome(after: string[], full: string[]): 'all' | 'none' | 'prefix' | 'holes' | 'garbage' {
  assert(after.join('').length <= full.join('').length)
  const isLost = (sector: string): boolean => /^(safe)?\0*$/.test(sector)
  const strange = after.findIndex((sector, index) => !isLost(sector) && !full[index]?.startsWith(sector))
  if (strange >= 0) {
    assert(after.slice(strange + 1).every(isLost))
    return 'garbage'
  }
  if (after.join('') === full.join('')) return 'all'
  if (after.join('') === 'safe') return 'none'
  return after.some(isLost) ? 'holes' : 'prefix'
}

test('of several unsynced writes any may survive a crash, also without the earlier ones', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 60; seed++) {
    const { simulation, host } = start(seed, { garbageRate: 0 })
    await simulation.run(
      (async () => {
        await host.files.write('/data', '....')
        await using writer = await host.files.openWriter()
        const steps = ['a', 'b', 'c'].map((letter, index) => writeStep('/data', index, letter))
        await writer.perform(steps)
      })(),
    )
    outcomes.add(await crashAndRead(simulation, host, '/data'))
  }
  const expected = ['....', '..c.', '.b..', '.bc.', 'a...', 'a.c.', 'ab..', 'abc.']
  assert.deepEqual([...outcomes].sort(), expected)
})

test('a write that survives a crash keeps its order with the synced writes', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    await simulation.run(
      (async () => {
        await using writer = await host.files.openWriter()
        const failing = writer.perform([writeStep('/data', 0, 'older'), { type: 'sync', path: '/data' }])
        host.disk.failNext('sync', 'EIO')
        await assert.rejects(failing, { code: 'EIO' })
        await writer.perform([writeStep('/data', 0, 'newer'), { type: 'sync', path: '/data' }])
      })(),
    )
    assert.equal(await crashAndRead(simulation, host, '/data'), 'newer')
  }
})

test('the oldest of very many unsynced writes survive a crash, as the kernel has written them back', async () => {
  const { simulation, host } = start(1)
  const steps = Array.from({ length: 10_000 }, (_, index) => writeStep('/data', index, 'x'))
  await simulation.run(
    (async () => {
      await host.files.write('/data', '')
      await using writer = await host.files.openWriter()
      await writer.perform(steps)
    })(),
  )
  const after = await crashAndRead(simulation, host, '/data')
  assert.match(after.slice(0, 5_000), /^x{5000}$/)
  assert.doesNotMatch(after, /^x{10000}$/)
})

test('a file with two names is torn once, and only the name that was not synced may be lost', async () => {
  const lost = new Set<boolean>()
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    const { files } = host
    await simulation.run(
      (async () => {
        await files.makeFolder('/folder')
        await (await files.openAppend('/new')).append(bytes('unsynced'))
        await files.link('/new', '/folder/linked')
      })(),
    )
    const linked = await crashAndRead(simulation, host, '/folder/linked')
    const isLost = (await simulation.run(host.files.stat('/new'))) === undefined
    lost.add(isLost)
    if (!isLost) assert.equal(await readText(simulation, host, '/new'), linked)
  }
  assert.deepEqual(lost, new Set([true, false]))
})

test('the name of a file is durable after a sync by the file writer that created it', async () => {
  const kept = { byCreator: 0, byOther: 0 }
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    const { files } = host
    await simulation.run(
      (async () => {
        const [creator, other] = [await files.openWriter(), await files.openWriter()]
        await creator.perform([
          writeStep('/a', 0, 'x'),
          { type: 'sync', path: '/a' },
          writeStep('/b', 0, 'x'),
        ])
        await other.perform([{ type: 'sync', path: '/b' }])
      })(),
    )
    await crash(simulation, host)
    const names = await simulation.run(host.files.list('/'))
    if (names.includes('a')) kept.byCreator++
    if (names.includes('b')) kept.byOther++
  }
  assert.equal(kept.byCreator, 20)
  assert(kept.byOther > 0 && kept.byOther < 20)
})

test('a crash in the middle of steps leaves the steps before it, and none after it', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 30; seed++) {
    const { simulation, host } = start(seed, { syncMinMs: 1, syncMaxMs: 1, garbageRate: 0 })
    const writer = await simulation.run(host.files.openWriter())
    const synced = (text: string) => [writeStep('/log', 0, text), { type: 'sync', path: '/log' } as const]
    void writer.perform([...synced('1'), ...synced('2')])
    void writer.perform(synced('3'))
    await simulation.advance(1.5)
    outcomes.add(await crashAndRead(simulation, host, '/log'))
    assert.equal(await simulation.settle(), true)
    assert.match(await readText(simulation, host, '/log'), /^[12]$/)
  }
  assert.deepEqual([...outcomes].sort(), ['1', '2'])
})

test('a sync covers earlier appends only', async () => {
  const lost = new Set<boolean>()
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    await simulation.run(
      (async () => {
        const file = await host.files.openAppend('/log')
        const other = await host.files.openAppend('/log')
        await file.append(bytes('one'))
        const synced = file.sync()
        await other.append(bytes('two'))
        await synced
      })(),
    )
    const after = await crashAndRead(simulation, host, '/log')
    assert(after.startsWith('one'))
    lost.add(after === 'one')
  }
  assert.deepEqual(lost, new Set([true, false]))
})

test('a crash during an atomic write leaves the old or the new content', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    await simulation.run(host.files.write('/config', 'old'))
    void host.files.write('/config', 'new')
    outcomes.add(await crashAndRead(simulation, host, '/config'))
    await simulation.run(host.files.write('/config', 'newer'))
    assert.equal(await crashAndRead(simulation, host, '/config'), 'newer')
  }
  assert.deepEqual([...outcomes].sort(), ['new', 'old'])
})

test('a truncation may be undone by a crash until the file is synced', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 30; seed++) {
    const { simulation, host } = start(seed)
    await simulation.run(host.files.write('/log', 'good torn'))
    await simulation.run(host.files.truncate('/log', 5))
    assert.equal(Buffer.from(await simulation.run(host.files.read('/log'))).toString(), 'good ')
    outcomes.add(await crashAndRead(simulation, host, '/log'))
    await simulation.run(
      (async () => {
        await host.files.truncate('/log', 4)
        const file = await host.files.openAppend('/log')
        await file.append(bytes('!'))
        await file.sync()
      })(),
    )
    assert.equal(await crashAndRead(simulation, host, '/log'), 'good!')
  }
  assert.deepEqual([...outcomes].sort(), ['good ', 'good torn'])
})

test('a crash may lose a new unsynced file, but no synced or renamed one', async () => {
  const found = new Set<boolean>()
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    await simulation.run(
      (async () => {
        await host.files.openAppend('/never-synced')
        await (await host.files.openAppend('/synced')).sync()
        await host.files.openAppend('/renaming')
        await host.files.rename('/renaming', '/renamed')
      })(),
    )
    await crash(simulation, host)
    const names = await simulation.run(host.files.list('/'))
    found.add(names.includes('never-synced'))
    assert.deepEqual(
      names.filter(name => name !== 'never-synced'),
      ['renamed', 'synced'],
    )
  }
  assert.deepEqual(found, new Set([true, false]))
})

test('a disk that ignores syncs loses what was synced', async () => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed, { ignoresSync: true, garbageRate: 0 })
    await simulation.run(
      (async () => {
        const file = await host.files.openAppend('/log')
        await file.append(bytes('safe'))
        await file.sync()
      })(),
    )
    await crash(simulation, host)
    const there = await simulation.run(host.files.stat('/log'))
    outcomes.add(there?.sizeBytes === 4 ? 'kept' : 'lost')
  }
  assert.deepEqual([...outcomes].sort(), ['kept', 'lost'])
})

test('an injected disk error fails the next operation and its handle', async () => {
  const { simulation, host } = start(1)
  await simulation.run(
    (async () => {
      const file = await host.files.openAppend('/log')
      host.disk.failNext('sync', 'EIO')
      await file.append(bytes('one'))
      await assert.rejects(file.sync(), { code: 'EIO' })
      await assert.rejects(file.append(bytes('two')), { code: 'EIO' })
      assert.equal(Buffer.from(await host.files.read('/log')).toString(), 'one')
      host.disk.failNext('write', 'ENOSPC')
      await assert.rejects(host.files.write('/other', 'x'), { code: 'ENOSPC' })
      await host.files.write('/other', 'x')
    })(),
  )
})

test('after a failed sync later syncs do not make data durable', async () => {
  const outcomes = new Set<boolean>()
  for (let seed = 0; seed < 20; seed++) {
    const { simulation, host } = start(seed)
    await simulation.run(
      (async () => {
        const file = await host.files.openAppend('/log')
        await file.append(bytes('safe'))
        await file.sync()
        await file.append(bytes('doubtful'))
        host.disk.failNext('sync', 'EIO')
        await assert.rejects(file.sync())
        await (await host.files.openAppend('/log')).sync()
      })(),
    )
    const after = await crashAndRead(simulation, host, '/log')
    assert(after.startsWith('safe'))
    outcomes.add(after === 'safedoubtful')
  }
  assert.deepEqual(outcomes, new Set([true, false]))
})

test('a full simulated disk rejects writes, and an append may be partial', async () => {
  const { simulation, host } = start(3, { capacityBytes: 10 })
  await simulation.run(
    (async () => {
      await host.files.write('/a', '12345678')
      await assert.rejects(host.files.write('/b', '123'), { code: 'ENOSPC' })
      await host.files.write('/a', '1234567890')
      await assert.rejects(host.files.truncate('/a', 11), { code: 'ENOSPC' })
      await assert.rejects((await host.files.openAppend('/a')).append(bytes('1')), { code: 'ENOSPC' })
      await host.files.remove('/a')
      assert.equal(host.disk.usedBytes, 0)
      const file = await host.files.openAppend('/b')
      await assert.rejects(file.append(bytes('0123456789more')), { code: 'ENOSPC' })
      assert.equal(Buffer.from(await host.files.read('/b')).toString(), '0123456789')
    })(),
  )
})

test('random disk errors occur at the configured rate', async () => {
  const { simulation, host } = start(4, { errorRate: 0.3 })
  let failed = 0
  for (let write = 0; write < 200; write++) {
    await simulation.run(host.files.write('/a', 'x').catch(() => failed++))
  }
  assert(failed > 30 && failed < 90, `${failed} of 200 failed`)
})

function start(seed: number, disk = {}): { simulation: Simulation; host: SimulatedHost } {
  const simulation = new Simulation({ seed, disk })
  return { simulation, host: simulation.host('a') }
}

async function crash(simulation: Simulation, host: SimulatedHost): Promise<void> {
  host.crash()
  await simulation.run(simulation.clock.sleep(1))
  host.restart()
}

async function crashAndRead(simulation: Simulation, host: SimulatedHost, path: string): Promise<string> {
  await crash(simulation, host)
  return readText(simulation, host, path)
}

function writeStep(path: string, positionBytes: number, text: string): FileStep {
  return { type: 'write', path, positionBytes, bytes: new Uint8Array(Buffer.from(text)) }
}

async function readText(simulation: Simulation, host: SimulatedHost, path: string): Promise<string> {
  return Buffer.from(await simulation.run(host.files.read(path))).toString('latin1')
}
