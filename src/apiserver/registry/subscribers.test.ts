import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { CacheEvent } from './cache-event.ts'
import { StoredObject } from './stored-object.ts'
import { Subscribers, type Subscriber } from './subscribers.ts'

const color = (value: string) => {
  const valueOf = (object: KubernetesObject): string => object.metadata.labels?.['color'] ?? ''
  return { name: 'color', valueOf, value }
}

test('an event reaches all subscribers and those of its old or new field value', () => {
  const subscribers = new Subscribers()
  const named = new Map<Subscriber, string>()
  for (const name of ['all', 'red', 'blue', 'none']) {
    const subscriber = { onEvents: () => undefined, onReset: () => undefined }
    named.set(subscriber, name)
    subscribers.add(subscriber, name === 'all' ? undefined : color(name.replace('none', '')))
  }
  const check = (previous: string | undefined, current: string | undefined, expected: string): void => {
    const reached: string[] = []
    const event = new CacheEvent({
      revision: 2,
      key: '/a',
      current: stored(current, 2),
      previous: stored(previous, 1),
    })
    subscribers.forEach(event, subscriber => reached.push(named.get(subscriber) ?? ''))
    assert.equal(reached.sort().join(' '), expected)
  }
  check(undefined, 'red', 'all red')
  check('red', 'red', 'all red')
  check('red', 'blue', 'all blue red')
  check('', 'blue', 'all blue none')
  check('green', undefined, 'all')
  check(undefined, 'unreadable', 'all')
})

test('unsubscribing removes all state', () => {
  const subscribers = new Subscribers()
  const subscriber = { onEvents: () => undefined, onReset: () => undefined }
  subscribers.add(subscriber, color('red'))
  subscribers.add(subscriber, undefined)
  assert.equal(subscribers.all().length, 2)
  subscribers.delete(subscriber, color('red'))
  assert.equal(subscribers.isEmpty, false)
  subscribers.delete(subscriber, undefined)
  assert.equal(subscribers.isEmpty, true)
})

function stored(value: string | undefined, revision: number): StoredObject | undefined {
  if (value === undefined) return undefined
  const json = `{"kind":"A","metadata":{"labels":{"color":"${value}"}}}`
  return new StoredObject({
    key: '/a',
    revision,
    value: Buffer.from(value === 'unreadable' ? 'k8s:enc:' : json),
  })
}
