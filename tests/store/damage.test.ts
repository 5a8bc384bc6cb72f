/** Damage to the real files of a store: it is refused, never served. */
import assert from 'node:assert/strict'
import { cp, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore, StoreDamagedError } from '#/store/embedded.ts'
import { StoreError, type Entry, type Store } from '#/store/store.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

const objectCount = 1_000
const damageCount = 200

/** Several segments, and values that are read from disk. */
const sizes = { segmentBytesMax: 256 * 1024, cacheBytesMax: 10_000 }

test('of two hundred random damages none is served wrongly and none loses a write in silence', async t => {
  const folder = await temporaryFolder(t)
  const original = join(folder, 'original')
  const expected = await makeStore(original)
  const random = new SeededRandom('damage')
  const outcomes = { refused: 0, unaffected: 0, failedReads: 0 }
  for (let number = 0; number < damageCount; number++) {
    const copy = join(folder, 'copy')
    await cp(original, copy, { recursive: true })
    const damage = await damageOne(copy, random)
    outcomes[await outcomeOf(copy, expected, `${number}: ${damage}`)]++
    await rm(copy, { recursive: true })
  }
  t.diagnostic(`${JSON.stringify(outcomes)} of ${damageCount}`)
  assert.ok(outcomes.refused > damageCount / 2)
})

const missing: readonly (readonly [string, (folder: string) => Promise<void>])[] = [
  ['the folder of the store is deleted', folder => rm(join(folder, 'store'), { recursive: true })],
  [
    'the last segment is deleted',
    async folder => rm(join(folder, 'store', (await segmentsOf(folder)).at(-1)!)),
  ],
  ['the first segment is deleted', async folder => rm(join(folder, 'store', (await segmentsOf(folder))[0]!))],
  [
    'the last segment is empty',
    async folder => truncate(join(folder, 'store', (await segmentsOf(folder)).at(-1)!), 0),
  ],
  [
    'both marks are deleted',
    async folder => {
      await rm(join(folder, 'store', 'mark'))
      await rm(join(folder, 'pki', 'store.mark'))
    },
  ],
]

for (const [name, damage] of missing) {
  test(`a store is refused when ${name}`, async t => {
    const folder = await temporaryFolder(t)
    await makeStore(folder)
    await damage(folder)
    await assert.rejects(openIn(folder), StoreDamagedError)
    // Refusing changes nothing.
    await assert.rejects(openIn(folder), StoreDamagedError)
  })
}

test('one of the two marks is enough', async t => {
  const folder = await temporaryFolder(t)
  const expected = await makeStore(folder)
  await rm(join(folder, 'store', 'mark'))
  await using store = await openIn(folder)
  assert.deepEqual(await contentOf(store), expected)
})

type Content = ReadonlyMap<string, string>

async function makeStore(folder: string): Promise<Content> {
  await using store = await openIn(folder)
  const revisions = new Map<string, number>()
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      Array.from({ length: objectCount }, async (_, number) => {
        const key = `/registry/things/${number}`
        const value = Buffer.from(`${round} ${number} ${'x'.repeat(number % 300)}`)
        const expectedRevision = revisions.get(key)
        const result = await (expectedRevision === undefined
          ? store.create(key, value)
          : store.update(key, value, { expectedRevision }))
        assert.ok(result.written)
        revisions.set(key, result.revision)
      }),
    )
    await store.compact(await store.revision())
  }
  return await contentOf(store)
}

async function contentOf(store: Store): Promise<Content> {
  const { entries } = await store.list({ prefix: '/registry/' })
  return new Map(entries.map(entry => [entry.key, describe(entry)]))
}

function describe({ revision, createRevision, value }: Entry): string {
  return `${revision} ${createRevision} ${Buffer.from(value).toString()}`
}

async function outcomeOf(
  folder: string,
  expected: Content,
  damage: string,
): Promise<'refused' | 'unaffected' | 'failedReads'> {
  let store: EmbeddedStore
  try {
    store = await openIn(folder)
  } catch (error) {
    assert.ok(error instanceof StoreDamagedError, `${damage}: ${String(error)}`)
    return 'refused'
  }
  try {
    assert.deepEqual(await contentOf(store), expected, damage)
    return 'unaffected'
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'damaged') throw error
    return 'failedReads'
  } finally {
    await store[Symbol.asyncDispose]()
  }
}

function openIn(folder: string): Promise<EmbeddedStore> {
  return EmbeddedStore.open({
    platform,
    folder: join(folder, 'store'),
    markCopy: join(folder, 'pki', 'store.mark'),
    ...sizes,
  })
}

async function segmentsOf(folder: string): Promise<string[]> {
  const names = await readdir(join(folder, 'store'))
  return names.filter(name => name.endsWith('.log')).sort()
}

/** Describes the damage. */
async function damageOne(folder: string, random: SeededRandom): Promise<string> {
  const names = [...(await segmentsOf(folder)), 'mark']
  const pick = (): string => join(folder, 'store', names[random.integer(names.length)]!)
  const path = pick()
  const { size } = await stat(path)
  switch (random.integer(6)) {
    case 0: {
      const sizeBytes = random.integer(size)
      await truncate(path, sizeBytes)
      return `${path} is cut to ${sizeBytes} of ${size} bytes`
    }
    case 1: {
      await rm(path)
      return `${path} is deleted`
    }
    case 2: {
      const other = pick()
      await rename(path, `${path}.swap`)
      await rename(other === path ? `${path}.swap` : other, path)
      if (other !== path) await rename(`${path}.swap`, other)
      return `${path} and ${other} are swapped`
    }
    case 3: {
      const from = random.integer(size)
      await overwrite(path, from, () => 0)
      return `${path} has zeros from ${from}`
    }
    default: {
      const at = random.integer(size)
      const bit = 1 << random.integer(8)
      await overwrite(path, at, (byte, index) => (index === 0 ? byte ^ bit : byte))
      return `${path} has a flipped bit at ${at}`
    }
  }
}

/** Changes some bytes from a position. */
async function overwrite(
  path: string,
  from: number,
  change: (byte: number, index: number) => number,
): Promise<void> {
  await using file = await open(path, 'r+')
  const { bytesRead, buffer } = await file.read(Buffer.alloc(512), 0, 512, from)
  const changed = buffer.subarray(0, bytesRead).map(change)
  await file.write(changed, 0, bytesRead, from)
}
