/** The history of objects after SIGKILL of the API server while clients write: the store has what the log has lost. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { ObjectHistory } from '#/api/object-history.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { script, stop, up, type AdminClient, type Answered, type Running } from './process.ts'

const rounds = 3
const acknowledgedPerRound = 60
/** Half of them are Secrets. */
const objectCount = 6

interface Acknowledged {
  readonly revision: number
  readonly value: string
}

interface Stored {
  readonly metadata: { readonly resourceVersion: string }
  readonly data: { readonly value: string }
}

test('after kills every acknowledged write is in the history once, and no secret is in a file', async t => {
  const folder = await temporaryFolder(t)
  const writers = Array.from({ length: objectCount }, (_, index) => new Writer(index))
  let cluster = await up(t, folder)
  for (let round = 0; round < rounds; round++) {
    const enough = Promise.withResolvers<void>()
    let left = acknowledgedPerRound
    const writing = writers.map(writer => writer.run(cluster, () => --left === 0 && enough.resolve()))
    await Promise.race([enough.promise, ...writing])
    await stop(cluster, 'SIGKILL')
    await Promise.all(writing)
    cluster = await up(t, folder)
    for (const writer of writers) await writer.check(cluster)
    await checkWrites(cluster, writers)
  }
  const { stdout } = spawnSync(script, ['status', '--data-dir', folder], { encoding: 'utf8' })
  assert.match(stdout, /^history: \d+\.\d MiB, complete for less than a minute$/m)
  assert.match((await cluster.ask('/metrics')).text, /^k8ts_history_size_bytes [1-9]/m)
  await stop(cluster, 'SIGKILL')
  const content = await contentOf(folder)
  const [configMap, secret] = writers.map(({ acknowledged }) => acknowledged[0]!.value)
  assert.ok(content.includes(configMap!), 'values that are not secret are found')
  assert.ok(content.includes('k8s:enc:aesgcm:'))
  assert.ok(!content.includes(secret!))
  for (const { isSecret, acknowledged } of writers)
    for (const { value } of isSecret ? acknowledged : [])
      for (const shown of [value, btoa(value)]) assert.ok(!content.includes(shown), 'a secret is in a file')
})

/** Replaces one object again and again, one write at a time. */
class Writer {
  readonly acknowledged: Acknowledged[] = []
  readonly isSecret: boolean
  readonly path: string
  readonly #userAgent: string
  readonly #name: string
  readonly #collection: string

  constructor(index: number) {
    this.isSecret = index % 2 === 1
    this.#name = `object-${index}`
    this.#userAgent = `writer-${index}`
    this.#collection = `/api/v1/namespaces/default/${this.isSecret ? 'secrets' : 'configmaps'}`
    this.path = `${this.#collection}/${this.#name}`
  }

  /** Until the server is killed. */
  async run({ ask }: AdminClient, onWrite: () => void): Promise<void> {
    const headers = { 'content-type': 'application/json', 'user-agent': this.#userAgent }
    for (;;) {
      const value = randomBytes(24).toString('hex')
      const data = { value: this.isSecret ? btoa(value) : value }
      const body = JSON.stringify({ metadata: { name: this.#name }, data })
      const write = async (method: string, url: string): Promise<Answered> =>
        ask(url, { method, headers }, body)
      const answer = await write('PUT', this.path)
        .then(replaced => (replaced.status === 404 ? write('POST', this.#collection) : replaced))
        .catch(() => undefined)
      if (answer === undefined) return
      assert.ok(answer.status < 300, answer.text)
      const { metadata } = JSON.parse(answer.text) as Stored
      this.acknowledged.push({ revision: Number(metadata.resourceVersion), value })
      onWrite()
    }
  }

  async check({ ask }: AdminClient): Promise<void> {
    const answer = await ask(`${this.path}?history=true&limit=500`)
    assert.equal(answer.status, 200, answer.text)
    const { items } = JSON.parse(answer.text) as ObjectHistory
    const versions = items.toReversed().map(({ revision, type, origin, object }) => {
      assert.deepEqual([origin?.user, origin?.userAgent], ['kubernetes-admin', this.#userAgent])
      assert.equal(origin?.verb, type === 'ADDED' ? 'create' : 'update')
      const { value } = (object as unknown as Stored).data
      return { revision, value: this.isSecret ? atob(value) : value }
    })
    assert.deepEqual(
      versions.map(({ revision }) => revision),
      [...new Set(versions.map(({ revision }) => revision))].sort((left, right) => left - right),
    )
    const revisions = new Set(this.acknowledged.map(({ revision }) => revision))
    assert.deepEqual(
      versions.filter(({ revision }) => revisions.has(revision)),
      this.acknowledged,
    )
    // A write whose response the kill has prevented, in each round.
    assert.ok(versions.length <= this.acknowledged.length + rounds, `${versions.length} versions`)
    const now = JSON.parse((await ask(this.path)).text) as Stored
    assert.deepEqual(now, items[0]!.object)
  }
}

/** The stream of all writes has those of the histories, each once and in order. */
async function checkWrites({ ask }: Running, writers: readonly Writer[]): Promise<void> {
  const [, ...lines] = (await ask('/k8ts/writes')).text.trimEnd().split('\n')
  const writes = lines.map(line => JSON.parse(line) as WriteRecord)
  const revisions = writes.map(({ revision }) => revision)
  assert.deepEqual(
    revisions,
    [...new Set(revisions)].sort((left, right) => left - right),
  )
  const known = new Set(revisions)
  for (const { acknowledged } of writers)
    for (const { revision } of acknowledged) assert.ok(known.has(revision))
}

/** The content of all files in the folder as one string, also that of each compressed block in them. */
async function contentOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const contents: Buffer[] = []
  for (const entry of entries.filter(each => each.isFile())) {
    const content = await readFile(join(entry.parentPath, entry.name))
    contents.push(content)
    for (let at = content.indexOf(zstdMagic); at >= 0; at = content.indexOf(zstdMagic, at + 1)) {
      try {
        contents.push(zstdDecompressSync(content.subarray(at)))
      } catch {
        // The bytes of the magic number may be anywhere, and the last block incomplete.
      }
    }
  }
  return contents.map(content => content.toString('latin1')).join('\n')
}

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
