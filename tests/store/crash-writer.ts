/**
 * Writes to an embedded store with many concurrent writers until killed. Each acknowledged write is printed
 * to standard output as `revision key value`, without a value for a deletion.
 */
import { writeSync } from 'node:fs'
import { nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore } from '#/store/embedded.ts'

const [folder = '', round = '0'] = process.argv.slice(2)
const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const store = await EmbeddedStore.open({ platform, folder })
let writes = 0
writeSync(2, 'open\n')

async function writer(number: number): Promise<never> {
  for (;;) {
    const key = `/registry/crash/${number}-${platform.random.integer('key', 5)}`
    const value = `${round}-${writes++}-${'x'.repeat(platform.random.integer('size', 3_000))}`
    const current = await store.get(key)
    const gone = current !== undefined && platform.random.integer('delete', 5) === 0
    const result =
      current === undefined
        ? await store.create(key, Buffer.from(value))
        : gone
          ? await store.delete(key, { expectedRevision: current.revision })
          : await store.update(key, Buffer.from(value), { expectedRevision: current.revision })
    if (result.written) writeSync(1, `${result.revision} ${key} ${gone ? '' : value}\n`)
  }
}

async function compact(): Promise<never> {
  for (;;) {
    await platform.clock.sleep(20)
    await store.compact(Math.max(1, (await store.revision()) - 500))
  }
}

await Promise.all([compact(), ...Array.from({ length: 32 }, (_, index) => writer(index))])
