/**
 * Small bodies that expand: they are rejected, or parsed in time and memory linear in their length
 * (CVE-2019-11253, CVE-2019-11254, CVE-2019-1002100).
 */
import assert from 'node:assert/strict'
import { before, test, type TestContext } from 'node:test'
import { startTestServer, type TestServer } from '#/apiserver/test-server.ts'
import { apiRequest } from './api-request.ts'
import { configMap } from './users.ts'

const maps = '/api/v1/namespaces/default/configmaps'

/** About the maximum size of a request; no body here is larger. */
const sizeMax = 3_000_000
/** Processor time of a request, in multiples of that of an ordinary body of the maximum size. */
const costRatioMax = 5

/** Mostly memory that V8 does not release immediately. */
const grownBytesMax = 700_000_000

const repeat = (text: string, count: number): string => text.repeat(count)

/** Billion laughs: nine levels, each with nine references to the previous one. */
function laughs(levels = 9): string {
  const lines = ['a0: &a0 ["lol","lol","lol","lol","lol","lol","lol","lol","lol"]']
  for (let level = 1; level <= levels; level++) {
    lines.push(`a${level}: &a${level} [${repeat(`*a${level - 1},`, 8)}*a${level - 1}]`)
  }
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: b\n${lines.join('\n')}\n`
}

const yaml = 'application/yaml'
const json = 'application/json'
const apply = 'application/apply-patch+yaml'
const operations = 'application/json-patch+json'
const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const protobuf = 'application/vnd.kubernetes.protobuf'

/** Names of bodies, their media types, and their content. */
const bombs: readonly (readonly [string, readonly string[], () => string | Uint8Array])[] = [
  ['laughs', [yaml, apply], () => laughs()],
  ['an alias to itself', [yaml, apply], () => 'a: &a [*a]\n'],
  [
    'many aliases to one long text',
    [yaml, apply],
    () => `a: &a ${repeat('x', 100_000)}\nb: [${repeat('*a,', 20_000)}]`,
  ],
  ['merges of merges', [yaml, apply], () => `a: &a {x: 1}\n${repeat('b: &a {<<: [*a, *a, *a]}\n', 30)}`],
  ['a deep flow', [yaml, apply], () => repeat('[', 500_000)],
  ['a deep flow of maps', [yaml, apply], () => repeat('{a: ', 300_000)],
  ['deep dashes', [yaml, apply], () => repeat('- ', 500_000)],
  [
    'deep keys',
    [yaml, apply],
    () => Array.from({ length: 1_500 }, (_, depth) => `${repeat(' ', depth)}a:`).join('\n'),
  ],
  ['question marks', [yaml, apply], () => repeat('? ', 500_000)],
  ['long indents', [yaml, apply], () => repeat(`${repeat(' ', 3_000)}\n`, 900)],
  ['a quote without an end', [yaml, json], () => `"${repeat('\\"', 1_000_000)}`],
  ['a block without an end', [yaml], () => `a: |\n${repeat('  \n', 700_000)}`],
  ['colons', [yaml, apply], () => repeat('a: ', 800_000)],
  ['comments', [yaml, apply], () => repeat('#\n', 1_200_000)],
  ['documents', [yaml, apply], () => repeat('---\n', 700_000)],
  [
    'anchors',
    [yaml],
    () => Array.from({ length: 100_000 }, (_, index) => `a${index}: &b${index} c`).join('\n'),
  ],
  ['tags', [yaml], () => repeat('!', 2_000_000)],
  ['digits', [yaml, json, merge], () => repeat('9', 2_500_000)],
  ['an exponent', [yaml, json, merge], () => `{"data":{"a":1e${repeat('9', 1_000_000)}}}`],
  ['deep lists', [json, merge, strategic, operations], () => repeat('[', 1_000_000)],
  ['deep objects', [json, merge, strategic], () => repeat('{"a":', 500_000)],
  [
    'deep objects with an end',
    [json, merge, strategic],
    () => `${repeat('{"a":', 200_000)}1${repeat('}', 200_000)}`,
  ],
  ['deep known fields', [json], () => `${repeat('{"metadata":', 100_000)}{}${repeat('}', 100_000)}`],
  ['one key many times', [json, merge], () => `{"data":{${repeat('"a":"b",', 300_000)}"a":"b"}}`],
  [
    'many unknown fields',
    [json, yaml],
    () => JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]))),
  ],
  ['escapes', [json], () => `{"data":{"a":"${repeat('\\u0000', 400_000)}"}}`],
  ['copies of copies', [operations], () => copies(60)],
  [
    'many operations',
    [operations],
    () =>
      `[${repeat('{"op":"test","path":"/kind","value":"ConfigMap"},', 50_000)}{"op":"remove","path":"/kind"}]`,
  ],
  [
    'a long path',
    [operations],
    () => JSON.stringify([{ op: 'add', path: repeat('/a', 1_000_000), value: 1 }]),
  ],
  ['tildes', [operations], () => JSON.stringify([{ op: 'remove', path: `/${repeat('~1~0', 500_000)}` }])],
  [
    'a list of directives',
    [strategic],
    () => `{"metadata":{"ownerReferences":[${repeat('{"$patch":"delete","uid":"a"},', 80_000)}{}]}}`,
  ],
  [
    'an order of a long list',
    [strategic],
    () => `{"metadata":{"$setElementOrder/finalizers":[${repeat('"a",', 500_000)}"b"]}}`,
  ],
  ['lengths that lie', [protobuf], () => Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(100_000, 0xff)])],
  ['deep messages', [protobuf], () => Buffer.concat([Buffer.from('k8s\0'), nested(10_000)])],
  [
    'many empty messages',
    [protobuf],
    () => Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(2_000_000, '\x0a\0')]),
  ],
]

/** Each operation copies the whole object into itself, which doubles its size. */
function copies(count: number): string {
  const all = Array.from({ length: count }, (_, index) => ({
    op: 'copy',
    from: '/data',
    path: `/data/k${index}`,
  }))
  return JSON.stringify([{ op: 'add', path: '/data', value: { a: 'b' } }, ...all])
}

function nested(depth: number): Buffer {
  let bytes = Buffer.from([0x0a, 0])
  for (let level = 0; level < depth && bytes.length < 500_000; level++) {
    const { length } = bytes
    const size =
      length < 128
        ? [length]
        : length < 16_384
          ? [(length & 127) | 128, length >> 7]
          : [(length & 127) | 128, ((length >> 7) & 127) | 128, length >> 14]
    bytes = Buffer.concat([Buffer.from([0x0a, ...size]), bytes])
  }
  return bytes
}

/** Processor time of the most expensive ordinary body: many entries in YAML, of about the maximum size. */
let ordinaryMs = 0

before(async t => {
  const { server } = await startTestServer(t as TestContext)
  const entries = Array.from({ length: 150_000 }, (_, index) => `  key-${index}: "a"\n`)
  const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ordinary}\ndata:\n${entries.join('')}`
  const { status, costMs } = await measure(server, yaml, body)
  assert.equal(status, 413, 'read as a whole and too large to be stored')
  ordinaryMs = costMs
})

async function measure(server: TestServer['server'], type: string, body: string | Uint8Array) {
  assert.ok(body.length <= sizeMax, `${body.length} bytes`)
  const isPatch = type.includes('patch')
  const url = isPatch ? `${maps}/target?fieldManager=x&force=true` : maps
  const residentBytes = process.memoryUsage().rss
  const started = process.cpuUsage()
  const sent = apiRequest(isPatch ? 'PATCH' : 'POST', url, { body, headers: { 'content-type': type } })
  const { status } = await server.handle(sent)
  const { user, system } = process.cpuUsage(started)
  const grownBytes = process.memoryUsage().rss - residentBytes
  return { status, costMs: (user + system) / 1_000, grownBytes }
}

for (const [name, types, make] of bombs) {
  test(`a request body that expands is answered at the cost of an ordinary one: ${name}`, async t => {
    const { server, request } = await startTestServer(t)
    assert.equal((await request('POST', maps, configMap('target'))).code, 201)
    const body = make()
    for (const type of types) {
      const { status, costMs, grownBytes } = await measure(server, type, body)
      assert.ok(status < 500, `${type}: ${status}`)
      const ratio = costMs / ordinaryMs
      assert.ok(ratio < costRatioMax, `${type}: ${ratio.toFixed(1)} times as much`)
      assert.ok(grownBytes < grownBytesMax, `${type}: ${Math.round(grownBytes / 1e6)} MB`)
    }
    const { text } = await request('GET', `${maps}/target`)
    assert.ok(text.length < 10_000, 'nothing large is stored')
  })
}
