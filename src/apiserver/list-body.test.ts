import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { decodeProtobuf } from '#/api/protobuf.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { ValueBody } from './request.ts'
import { startTestServer } from './test-server.ts'
import { prettyJson } from './view.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const table = ';as=Table;g=meta.k8s.io;v=v1'
const partial = ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

type Read = (accept: string, query?: string) => Promise<ValueBody>

async function start(t: TestContext, objects: readonly object[]): Promise<Read> {
  const { request, raw } = await startTestServer(t)
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
  const pieces = body.pieces ? await Array.fromAsync(body.pieces()) : body.bytes()
  return Buffer.concat(pieces).toString('latin1')
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
  assert.equal((await read('application/json')).pieces, undefined)
  await checkFormats(read)
})

test('a large list is encoded in pieces and is the same in all formats', async t => {
  const object = { data: { text: 'a line\n'.repeat(600), long: 'word '.repeat(100) } }
  const read = await start(
    t,
    Array.from({ length: 70 }, () => object),
  )
  const body = await read('application/json')
  assert.ok((await Array.fromAsync(body.pieces!())).length > 2)
  await checkFormats(read)
})

test('concurrent lists of all objects share the encoded items until an object changes', async t => {
  const { request, raw } = await startTestServer(t)
  const data = { text: 'a'.repeat(4_000) }
  for (let index = 0; index < 50; index++)
    await request('POST', maps, { metadata: { name: `m${index}` }, data })
  const items = async (): Promise<Uint8Array | undefined> => {
    const { body } = await raw('GET', maps)
    assert.ok(body?.type === 'value')
    const pieces = await Array.fromAsync(body.pieces!())
    return pieces[1]
  }
  const [first, second] = await Promise.all([items(), items()])
  assert.equal(first, second)
  assert.equal(await items(), first)
  await request('DELETE', `${maps}/m7`)
  assert.notEqual(await items(), first)
})
