/** Migrations of a data folder: the plans, and a migration that is interrupted at every disk operation. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Files, Platform } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import {
  dataFolderFormat,
  openDataFolder,
  planMigration,
  readDataFolderRecord,
  type DataFolderRecord,
} from './data-folder-format.ts'

const folder = '/cluster'
const holder = { pid: 7, isReady: false, startedMs: 0 }

test('a folder of each format is brought to the current one, and a later one is refused', () => {
  const check = (record: Partial<DataFolderRecord> | undefined, isStoreDatabase: boolean, steps: string) => {
    const facts = {
      record: record && { format: dataFolderFormat, k8ts: '2.0.0', ...record },
      isStoreDatabase,
    }
    const plan = planMigration(facts, '2.0.0')
    const text = plan.type === 'refuse' ? 'refuse' : plan.steps.map(({ type }) => type).join(', ')
    assert.equal(text, steps)
  }
  check(undefined, false, 'write-record')
  check(undefined, true, 'migrate-store, write-record')
  check({}, false, '')
  check({ k8ts: '1.0.0' }, false, 'write-record')
  // Before a roll-back: the format is the same.
  check({ k8ts: '3.0.0' }, false, 'write-record')
  check({ format: dataFolderFormat + 1 }, false, 'refuse')
})

test('an older k8ts names both versions and what to do, changes nothing and releases the lock', async () => {
  const { simulation, platform } = await start()
  const later = { format: dataFolderFormat + 1, k8ts: '0.3.0' }
  await simulation.run(platform.files.write(`${folder}/format.json`, JSON.stringify(later)))
  const message =
    `/cluster has data format ${dataFolderFormat + 1} of k8ts 0.3.0, and k8ts 0.2.0 reads up to format ` +
    `${dataFolderFormat}: run k8ts 0.3.0 or newer, or restore a snapshot into another --data-dir`
  for (const _ of ['first', 'second'])
    await assert.rejects(simulation.run(open(platform, '0.2.0')), { message })
  assert.deepEqual(await simulation.run(readDataFolderRecord(platform.files, folder)), later)
})

test('the record names the version that opened the folder last', async () => {
  const { simulation, platform } = await start()
  for (const version of ['0.1.0', '0.2.0', '0.1.0']) {
    const lock = await simulation.run(open(platform, version))
    await simulation.run(Promise.resolve(lock[Symbol.asyncDispose]()))
    const record = await simulation.run(readDataFolderRecord(platform.files, folder))
    assert.deepEqual(record, { format: dataFolderFormat, k8ts: version })
  }
})

test('a migration from format 1 that is interrupted anywhere begins again and loses nothing', async t => {
  const database = join(import.meta.dirname, '../../tests/store/testdata/format-1.db')
  const machine = nodePlatform({ log: { level: 'error', format: 'text' } })
  let interrupted = 0
  for (let operations = 0; ; operations++) {
    const data = await temporaryFolder(t)
    const place = { folder: join(data, 'store'), markCopy: join(data, 'pki', 'store.mark') }
    for (const path of [place.folder, join(data, 'pki')]) await machine.files.makeFolder(path)
    await machine.files.write(join(place.folder, 'store.db'), await machine.files.read(database))
    const options = { folder: data, version: '0.2.0' }
    const failing = { ...machine, files: failingAfter(machine.files, operations) }
    const first = await openDataFolder({ ...options, platform: failing }, () => holder).catch(() => undefined)
    await first?.[Symbol.asyncDispose]()
    if (first === undefined) interrupted++
    const lock = await openDataFolder({ ...options, platform: machine }, () => holder)
    await lock[Symbol.asyncDispose]()
    await using store = await EmbeddedStore.open({ platform: machine, ...place })
    assert.deepEqual([await store.revision(), await store.compactedRevision()], [8, 3])
    const { entries } = await store.list({ prefix: '/registry/' })
    assert.equal(entries.length, 3)
    const record = await readDataFolderRecord(machine.files, data)
    assert.deepEqual(record, { format: dataFolderFormat, k8ts: '0.2.0' })
    if (first !== undefined) break
  }
  assert.ok(interrupted > 10, `${interrupted} operations`)
})

/** Every operation after this number of them fails, as after the end of the process. */
function failingAfter(files: Files, operations: number): Files {
  let left = operations
  return new Proxy(files, {
    get: (target, name: keyof Files) => {
      const operation = target[name].bind(target) as (...parameters: readonly unknown[]) => unknown
      return (...parameters: readonly unknown[]) => {
        if (left-- <= 0) return Promise.reject(new Error('interrupted'))
        return operation(...parameters)
      }
    },
  })
}

function open(platform: Platform, version: string) {
  return openDataFolder({ platform, folder, version }, () => holder)
}

async function start() {
  const simulation = new Simulation({ seed: 1 })
  const { clock, random, network, files, processes, log } = simulation.host('a')
  await simulation.run(files.makeFolder(folder))
  return { simulation, platform: { clock, random, network, files, processes, log } }
}
