import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { JsonValue } from '#/api/text/json-value.ts'
import { decodeProtobuf } from '#/api/protobuf.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { GzipBody, Piece, ValueBody } from './request.ts'
import { startTestServer } from './test-server.ts'
import { prettyJson } from './view.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const table = ';as=Table;g=meta.k8s.io;v=v1'
const partial = ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

type Read = (accept: string, query?: string) => Promise<ValueBody>

/** The clock stands still, because ages in Tables of two requests are compared. */
async function start(t: TestContext, objects: readonly object[]): Promise<Read> {
  const machine = nodePlatform({ log: { level: 'error', format: 'text' } })
  const nowMs = machine.clock.now()
  const platform = { ...machine, clock: { ...machine.clock, now: () => nowMs } }
  const { request, raw } = await startTestServer(t, platform)
  for (const [index, object] of objects.entries()) {
    const { code, text } = await request('POST', maps, { ...object, metadata: { name: `m${index}` } })
    assert.equal(code, 201, text)
  }
  return async (accept, query = '') => {
    const { body } = await raw('GET', `${maps}${query}`, { headers: { accept } })
    assert.ok(body?.type === 'value')
    return body
  }
}

async function textOf(body: ValueBody): Promise<string> {
  if (body.batches === undefined) return Buffer.concat(body.bytes()).toString('latin1')
  const batches = await Array.fromAsync(body.batches())
  const bytes = Buffer.concat(batches.flatMap(({ pieces }) => pieces.map(piece => Buffer.from(piece))))
  assert.equal(
    bytes.length,
    batches.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  )
  return bytes.toString('latin1')
}

/** Checks that every format has the bytes that the list would have if it was encoded as a whole. */
async function checkFormats(read: Read): Promise<void> {
  for (const [transform, query] of [
    ['', ''],
    [partial, ''],
    [table, ''],
    [table, '?includeObject=None'],
    [table, '?includeObject=Object'],
  ] as const) {
    const json = await read(`application/json${transform}`, query)
    const value = JSON.parse(await textOf(json)) as JsonValue
    assert.deepEqual(JSON.parse(Buffer.concat(json.bytes()).toString()), value)
    const yaml = await read(`application/yaml${transform}`, query)
    assert.equal(await textOf(yaml), stringifyYaml(value))
    const pretty = await read(`application/json${transform}`, `${query === '' ? '?' : `${query}&`}pretty=1`)
    const prettyText = await textOf(pretty)
    const prettyValue = JSON.parse(prettyText) as JsonValue
    assert.deepEqual(prettyValue, value)
    assert.equal(prettyText, `${prettyJson(prettyValue)}\n`)
  }
  const plain = JSON.parse(await textOf(await read('application/json'))) as {
    readonly items: readonly object[]
  }
  const protobuf = await read('application/vnd.kubernetes.protobuf')
  const decoded = decodeProtobuf(Buffer.from(await textOf(protobuf), 'latin1'))
  assert.deepEqual(decoded['items'], plain.items)
}

test('a list without objects is the same in all formats', async t => {
  await checkFormats(await start(t, []))
})

test('a small list is encoded at once and is the same in all formats', async t => {
  const read = await start(t, [{ data: { a: '1\n2' } }, { data: {} }])
  assert.equal((await read('application/json')).batches, undefined)
  await checkFormats(read)
})

test('a large list is encoded in batches and is the same in all formats', async t => {
  const object = { data: { text: 'a line\n'.repeat(600), long: 'word '.repeat(100) } }
  const read = await start(
    t,
    Array.from({ length: 70 }, () => object),
  )
  const body = await read('application/json')
  assert.ok((await Array.fromAsync(body.batches!())).length > 2)
  await checkFormats(read)
})

for (const query of ['', '?limit=45']) {
  const name = query === '' ? 'lists of all objects' : 'pages'
  test(`repeated ${name} share the encoded items until an object changes`, async t => {
    const { request, raw } = await startTestServer(t)
    const data = { text: 'a'.repeat(4_000) }
    for (let index = 0; index < 50; index++)
      await request('POST', maps, { metadata: { name: `m${index}` }, data })
    const items = async (): Promise<Piece | undefined> => {
      const { body } = await raw('GET', `${maps}${query}`)
      assert.ok(body?.type === 'value')
      const batches = await Array.fromAsync(body.batches!())
      return batches[1]?.pieces.find(piece => piece.length > 4_000)
    }
    const first = await items()
    const [second, third] = await Promise.all([items(), items()])
    assert.notEqual(second, first)
    assert.equal(second, third)
    assert.equal(await items(), second)
    const compressed = async (): Promise<GzipBody | undefined> => {
      const { body } = await raw('GET', `${maps}${query}`)
      assert.ok(body?.type === 'value')
      const gzip = await body.gzip?.()
      if (gzip === undefined) return undefined
      const whole = gunzipSync(Buffer.concat(gzip.pieces))
      assert.equal(gzip.sizeBytes, whole.length)
      assert.equal(whole.toString('latin1'), await textOf(body))
      return gzip
    }
    assert.equal(await compressed(), undefined)
    assert.equal((await compressed())?.pieces[2], (await compressed())?.pieces[2])
    await request('DELETE', `${maps}/m7`)
    const changed = [await items(), await items()]
    assert.ok(!changed.includes(second))
    assert.equal(await compressed(), undefined)
    assert.ok(await compressed())
  })
}
