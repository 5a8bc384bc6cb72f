import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { diffObjects, maskSecretValues, type DiffOptions } from './diff-objects.ts'
import { formatFieldChange, summarizeFieldChange } from './format-field-change.ts'

interface Case {
  readonly name: string
  readonly before: JsonValue
  readonly after: JsonValue
  readonly options?: DiffOptions
  readonly expected: readonly string[]
}

const container = (name: string, more: object = {}): JsonValue => ({ name, image: 'web:1', ...more })

const cases: readonly Case[] = [
  { name: 'equal objects', before: { a: [1, { b: 2 }] }, after: { a: [1, { b: 2 }] }, expected: [] },
  {
    name: 'a scalar, an added and a removed field',
    before: { spec: { replicas: 2, paused: true } },
    after: { spec: { replicas: 3, minReadySeconds: 5 } },
    expected: ['~ spec.replicas: 2 -> 3', '- spec.paused: true', '+ spec.minReadySeconds: 5'],
  },
  {
    name: 'labels one by one, also the first ones',
    before: { metadata: { name: 'web' } },
    after: { metadata: { name: 'web', labels: { 'tier': 'web', 'app.kubernetes.io/name': 'shop' } } },
    expected: ['+ metadata.labels.tier: "web"', '+ metadata.labels["app.kubernetes.io/name"]: "shop"'],
  },
  {
    name: 'items of lists by their name',
    before: { spec: { containers: [container('web'), container('old')] } },
    after: { spec: { containers: [container('new'), container('web', { image: 'web:2' })] } },
    expected: [
      '~ spec.containers[name=web].image: "web:1" -> "web:2"',
      '- spec.containers[name=old]: {"name":"old","image":"web:1"}',
      '+ spec.containers[name=new]: {"name":"new","image":"web:1"}',
    ],
  },
  {
    name: 'the order of items',
    before: { env: [{ name: 'A' }, { name: 'B' }, { name: 'C' }] },
    after: { env: [{ name: 'B' }, { name: 'A' }] },
    expected: ['- env[name=C]: {"name":"C"}', '~ env (order): ["A","B"] -> ["B","A"]'],
  },
  {
    name: 'mounts by their path, since names repeat',
    before: {
      mounts: [
        { name: 'd', mountPath: '/a' },
        { name: 'd', mountPath: '/b' },
      ],
    },
    after: {
      mounts: [
        { name: 'd', mountPath: '/a' },
        { name: 'e', mountPath: '/b' },
      ],
    },
    expected: ['~ mounts[mountPath=/b].name: "d" -> "e"'],
  },
  {
    name: 'items without a unique key by position',
    before: { rules: [{ to: [1] }, { to: [2] }, { to: [9] }] },
    after: { rules: [{ to: [0] }, { to: [1] }, { to: [2] }, { to: [9] }] },
    expected: ['+ rules[0]: {"to":[0]}'],
  },
  {
    name: 'lists of scalars as a whole',
    before: { args: ['a', 'b'] },
    after: { args: ['a', 'c'] },
    expected: ['~ args: ["a","b"] -> ["a","c"]'],
  },
  {
    name: 'fields of the server are left out',
    before: { metadata: { resourceVersion: '1', managedFields: [], generation: 1 }, status: { ready: 1 } },
    after: { metadata: { resourceVersion: '2', managedFields: [{}], generation: 2 }, status: { ready: 2 } },
    expected: ['~ metadata.generation: 1 -> 2', '~ status.ready: 1 -> 2'],
  },
  {
    name: 'fields of the server, if asked for',
    before: { metadata: { resourceVersion: '1' } },
    after: { metadata: { resourceVersion: '2' } },
    options: { includeServerFields: true },
    expected: ['~ metadata.resourceVersion: "1" -> "2"'],
  },
  {
    name: 'without the status',
    before: { metadata: { generation: 1 }, status: { ready: 1 } },
    after: {
      metadata: { generation: 2, annotations: { 'deployment.kubernetes.io/revision': '1' } },
      status: { ready: 2 },
    },
    options: { specOnly: true },
    expected: [],
  },
  {
    name: 'at most the limit',
    before: { a: 1, b: 1, c: 1 },
    after: { a: 2, b: 2, c: 2 },
    options: { limit: 2 },
    expected: ['~ a: 1 -> 2', '~ b: 1 -> 2'],
  },
  {
    name: 'a change of the type, and null',
    before: { port: 80, gone: null },
    after: { port: 'http', gone: {} },
    expected: ['~ port: 80 -> "http"', '~ gone: null -> {}'],
  },
  {
    name: 'names of the prototype are data',
    before: parseJson('{"spec":{"constructor":1}}'),
    after: parseJson('{"spec":{"__proto__":{"x":1}}}'),
    expected: ['- spec.constructor: 1', '+ spec.__proto__: {"x":1}'],
  },
  {
    name: 'large integers keep their digits',
    before: { spec: { size: 9007199254740993n } },
    after: { spec: { size: 9007199254740995n } },
    expected: ['~ spec.size: 9007199254740993 -> 9007199254740995'],
  },
]

test('differences are listed by field', () => {
  for (const { name, before, after, options, expected } of cases) {
    assert.deepEqual(diffObjects(before, after, options).map(formatFieldChange), expected, name)
  }
})

test('values as deep as a parser accepts are compared without a stack overflow', () => {
  const deep = (leaf: number, levels: number): JsonValue => {
    let value: JsonValue = leaf
    for (let level = 0; level < levels; level++) value = level % 2 === 0 ? { a: value } : [value]
    return value
  }
  const [change, ...others] = diffObjects(deep(1, 900), deep(2, 900))
  assert.equal(others.length, 0)
  assert.ok(change && 'before' in change && 'after' in change)
  assert.deepEqual(diffObjects(deep(1, 900), deep(1, 900)), [])
})

test('long texts show where they differ, and control characters are escaped', () => {
  const text = 'x'.repeat(200)
  const [long] = diffObjects({ data: { conf: `${text}port=80` } }, { data: { conf: `${text}port=81` } })
  assert.match(formatFieldChange(long!), /^~ data\.conf: \.\.\."x+port=80" -> \.\.\."x+port=81"$/)
  const hostile = 'a\u001b]0;owned\u0007\u202e\n'
  const [change] = diffObjects({}, { [hostile]: hostile })
  const shown = formatFieldChange(change!)
  assert.doesNotMatch(shown, /[\p{Cc}\u202e]/u)
  assert.match(shown, /owned/)
  assert.ok(formatFieldChange({ path: 'p'.repeat(10_000), after: 'v'.repeat(10_000) }).length < 600)
})

test('a summary names the field without its usual prefix', () => {
  const summaries = [
    { path: 'spec.template.spec.containers[name=web].image', before: 'a', after: 'b' },
    { path: 'metadata.labels.tier', after: 'web' },
    { path: 'status.readyReplicas', before: 1 },
  ].map(summarizeFieldChange)
  assert.deepEqual(summaries, [
    'containers[name=web].image: "a" -> "b"',
    '+labels.tier: "web"',
    '-status.readyReplicas: 1',
  ])
})

test('values of Secrets are masked', () => {
  const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"a":"MQ=="}}' }
  const before = { metadata: {}, data: { a: 'MQ==', gone: 'Mg==' }, type: 'Opaque' }
  const after = { metadata: { annotations: lastApplied }, data: { a: 'Mw==' }, type: 'x' }
  assert.deepEqual(maskSecretValues(diffObjects(before, after)).map(formatFieldChange), [
    '+ metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]: "***"',
    '~ data.a: "*** (before)" -> "*** (after)"',
    '- data.gone: "***"',
    '~ type: "Opaque" -> "x"',
  ])
})
