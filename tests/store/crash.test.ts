import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '#/base/seeded-random.ts'
import { nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

test('a store killed a hundred times in the middle of writing keeps every acknowledged write', async t => {
  const folder = await temporaryFolder(t)
  let highest = 0
  let acknowledgedCount = 0
  for (let round = 0; round < rounds; round++) {
    const acknowledged = await writeUntilKilled(folder, round)
    const store = await EmbeddedStore.open({ platform, folder })
    const compacted = await store.compactedRevision()
    for (const { revision, key, value } of acknowledged) {
      assert.ok(revision > highest, `revision ${revision} is new`)
      if (revision < compacted) continue
      const entry = await store.get(key, { revision })
      assert.equal(entry && Buffer.from(entry.value).toString(), value, `${key} at revision ${revision}`)
      assert.equal(entry?.revision, value === undefined ? undefined : revision)
    }
    assert.equal(new Set(acknowledged.map(({ revision }) => revision)).size, acknowledged.length)
    highest = await store.revision()
    for (const { revision } of acknowledged) assert.ok(revision <= highest, 'revisions do not go back')
    acknowledgedCount += acknowledged.length
    await store[Symbol.asyncDispose]()
  }
  assert.ok(acknowledgedCount > rounds, `${acknowledgedCount} writes were acknowledged`)
  t.diagnostic(`${acknowledgedCount} acknowledged writes in ${rounds} rounds, all there`)
})

const rounds = 100

/** Maximum duration of a round. */
const roundMsMax = 100

interface Acknowledged {
  readonly revision: number
  readonly key: string
  readonly value: string | undefined
}

const random = new SeededRandom('crash rounds')

async function writeUntilKilled(folder: string, round: number): Promise<Acknowledged[]> {
  const script = join(import.meta.dirname, 'crash-writer.ts')
  const path = join(folder, `acknowledged-${round}`)
  await using output = await open(path, 'w')
  const child = spawn(process.execPath, [script, folder, String(round)], {
    stdio: ['ignore', output.fd, 'pipe'],
  })
  const opened = once(child.stderr!, 'data')
  const errors = text(child.stderr!)
  const exited = once(child, 'exit')
  // Every fifth round is killed while the store is being opened.
  if (round % 5 !== 0) await Promise.race([opened, exited])
  await Promise.race([sleep(random.fraction() * roundMsMax), exited])
  child.kill('SIGKILL')
  const [, signal] = (await exited) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL', await errors)
  // The last line may be incomplete, since the process was killed.
  return (await readFile(path, 'utf8')).split('\n').slice(0, -1).map(parse)
}

function parse(line: string): Acknowledged {
  const [revision = '', key = '', value = ''] = line.split(' ')
  return { revision: Number(revision), key, value: value === '' ? undefined : value }
}
