import assert from 'node:assert/strict'
import test from 'node:test'
import { Simulation, type SimulatedHost } from '../simulated.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text)

test('synced data survives every crash; of unsynced data a prefix may', async () => {
  const seen = { all: 0, none: 0, part: 0, garbage: 0 }
  for (let seed = 0; seed < 60; seed++) {
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
    const kept = after.slice(4)
    assert(kept.length <= tail.length)
    const torn = kept !== tail.slice(0, kept.length)
    if (torn) assert.equal(kept.slice(0, kept.length - 512), tail.slice(0, Math.max(0, kept.length - 512)))
    seen[torn ? 'garbage' : kept === '' ? 'none' : kept === tail ? 'all' : 'part']++
  }
  for (const [kind, count] of Object.entries(seen)) assert(count > 0, `no seed gave ${kind}`)
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
  return Buffer.from(await simulation.run(host.files.read(path))).toString('latin1')
}
