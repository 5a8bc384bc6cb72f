import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { FieldCondition } from './object-index.ts'
import { ObjectIndexes } from './object-indexes.ts'
import { StoredObject } from './stored-object.ts'

/** `key color`; without a color the object has no such label, `?` cannot be decoded. */
function stored(text: string, revision = 1): StoredObject {
  const [key = '', color] = text.split(' ')
  const labels = color === undefined ? {} : { color }
  const json = JSON.stringify({ kind: 'A', metadata: { labels } })
  return new StoredObject({ key, revision, value: Buffer.from(color === '?' ? 'k8s:enc:' : json) })
}

const valueOf = ({ metadata }: KubernetesObject): string | undefined => metadata.labels?.['color']

function color(values?: readonly string[]): FieldCondition {
  return { name: 'label color', valueOf, values }
}

/** Many objects without a label, so that an index is useful, and the given ones. */
function indexesOf(...texts: readonly string[]) {
  const objects = new Map(texts.map(text => stored(text)).map(each => [each.key, each]))
  for (let index = 0; index < 100; index++) objects.set(`/z/z/${index}`, stored(`/z/z/${index}`))
  const indexes = new ObjectIndexes({
    clock: new Simulation({ seed: 1 }).clock,
    objects: () => [...objects.values()],
    isCurrent: each => objects.get(each.key) === each,
    count: () => objects.size,
  })
  const put = (text: string): void => {
    const next = stored(text, 2)
    indexes.change(objects.get(next.key), next)
    objects.set(next.key, next)
  }
  const remove = (key: string): void => {
    indexes.change(objects.get(key), undefined)
    objects.delete(key)
  }
  const find = (condition: FieldCondition, prefix = '/a/', after?: string): string | undefined => {
    const found = indexes.select([condition], { prefix, after })
    return found?.map(({ key }) => key).join(' ')
  }
  return { indexes, put, remove, find }
}

test('an index finds the objects of a namespace by label values, in key order', async () => {
  const { indexes, find } = indexesOf('/a/x/2 red', '/a/y/1 red', '/a/x/3 blue', '/a/x/1 green', '/b/x/1 red')
  assert.equal(find(color(['red'])), undefined)
  await indexes.prepare([color()])
  assert.equal(find(color(['red'])), '/a/x/2 /a/y/1')
  assert.equal(find(color(['red', 'green', 'red'])), '/a/x/1 /a/x/2 /a/y/1')
  assert.equal(find(color(['red']), '/a/x/'), '/a/x/2')
  assert.equal(find(color(['red', 'green']), '/a/x/', '/a/x/1'), '/a/x/2')
  assert.equal(find(color()), '/a/x/1 /a/x/2 /a/x/3 /a/y/1')
  assert.equal(find(color(['pink'])), '')
})

test('an index follows created, changed and deleted objects', async () => {
  const { indexes, put, remove, find } = indexesOf('/a/x/1 red')
  await indexes.prepare([color()])
  put('/a/x/2 red')
  put('/a/x/1 blue')
  assert.equal(find(color(['red'])), '/a/x/2')
  put('/a/x/1')
  remove('/a/x/2')
  assert.equal(find(color()), '')
})

test('objects that cannot be decoded are part of every result', async () => {
  const { indexes, put, find } = indexesOf('/a/x/1 red', '/a/x/2 ?')
  await indexes.prepare([color()])
  assert.equal(find(color(['red'])), '/a/x/1 /a/x/2')
  assert.equal(find(color(['pink'])), '/a/x/2')
  put('/a/x/2 blue')
  assert.equal(find(color(['pink'])), '')
})

test('the condition with the fewest matches is used, and none that selects most objects', async () => {
  const { indexes, find } = indexesOf('/a/x/1 red', '/a/x/2 red', '/a/x/3 blue')
  const kind: FieldCondition = { name: 'field kind', valueOf: () => 'A', values: ['A'] }
  await indexes.prepare([color(), kind])
  assert.equal(find(kind), undefined)
  const found = indexes.select([kind, color(), color(['blue'])], { prefix: '/a/' })
  assert.deepEqual(
    found?.map(({ key }) => key),
    ['/a/x/3'],
  )
})

test('the least recently used index is dropped beyond the bound', async () => {
  const { indexes, find } = indexesOf('/a/x/1 red')
  await indexes.prepare([color()])
  for (let index = 0; index < 31; index++) await indexes.prepare([{ name: `label ${index}`, valueOf }])
  await indexes.prepare([color()])
  await indexes.prepare([{ name: 'label last', valueOf }])
  assert.equal(find(color(['red'])), '/a/x/1')
  assert.equal(find({ name: 'label 0', valueOf, values: ['red'] }), undefined)
})

test('changes while an index is filled are not lost', async () => {
  const simulation = new Simulation({ seed: 1 })
  let nowMs = 0
  const clock = {
    ...simulation.clock,
    monotonicMs: () => (nowMs += 10),
    turn: async () => undefined,
    beginWork: () => undefined,
  }
  const objects = new Map(
    ['1', '2', '3', '4', '5', '6', '7', '8'].map(name => [name, stored(`/a/x/${name} red`)]),
  )
  const current = new Map([...objects.values()].map(each => [each.key, each]))
  const indexes = new ObjectIndexes({
    clock,
    objects: () => [...objects.values()],
    isCurrent: each => current.get(each.key) === each,
    count: () => 100,
  })
  const preparing = indexes.prepare([color()])
  const change = (key: string, next: StoredObject | undefined): void => {
    indexes.change(current.get(key), next)
    if (next) current.set(key, next)
    else current.delete(key)
  }
  change('/a/x/1', stored('/a/x/1 blue', 2))
  change('/a/x/7', undefined)
  change('/a/x/8', stored('/a/x/8 blue', 2))
  await preparing
  const find = (value: string): string | undefined => {
    return indexes
      .select([color([value])], { prefix: '/a/' })
      ?.map(({ key }) => key.at(-1))
      .join('')
  }
  assert.deepEqual([find('red'), find('blue')], ['23456', '18'])
})
