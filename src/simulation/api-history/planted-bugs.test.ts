/** Bugs planted into the store and into the API server: the history of their clients shows each within a few seeds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiRequest, ApiResponse, StreamChunk } from '#/api/transport.ts'
import type { Store, StoreEvent } from '#/store/store.ts'
import { simulateApiHistory } from '../api-history.ts'
import { chunkOf, valueResponse } from '../faulty-transport.ts'
import { overridden, withChangedWatches } from '../overridden-store.ts'
import type { Handle } from '../simulated-connections.ts'
import { storeBugs } from '../store-bugs.ts'
import type { PlantedBug } from './simulated-server.ts'

const seedsMax = 200

const prefix = '/registry/configmaps/robustness/'
const collection = '/api/v1/namespaces/robustness/configmaps'

/** One in this many requests, events or writes is wrong. */
const wrongOneIn = 9

/** Bugs of stores that also break single requests. */
const sharedStoreBugs = [
  'updates ignore the expected revision',
  'an update is acknowledged and not written',
  'a creation is acknowledged and not written',
  'a deletion is acknowledged and not written',
  'a write that happened is reported as lost',
  'a revision is given twice',
] as const

const ownStoreBugs: Readonly<Record<string, (store: Store) => Store>> = {
  'a consistent read does not wait for the revision of the store': store =>
    overridden(store, { revision: async () => 1 }),
  'a deleted object is created again by a repeated request': store => {
    const values = new Map<string, Uint8Array>()
    const isWrong = oneIn(2)
    return overridden(store, {
      create: async (key, value, options) => {
        values.set(key, value)
        return store.create(key, value, options)
      },
      delete: async (key, options) => {
        const result = await store.delete(key, options)
        const value = values.get(key)
        if (result.written && value && isWrong()) await store.create(key, value)
        return result
      },
    })
  },
  'an acknowledged update is written twice': store => {
    const isWrong = oneIn(wrongOneIn)
    return overridden(store, {
      update: async (key, value, options) => {
        const result = await store.update(key, value, options)
        if (result.written && isWrong()) await store.update(key, value, { expectedRevision: result.revision })
        return result
      },
    })
  },
  'an acknowledged update is undone': store => {
    const isWrong = oneIn(wrongOneIn)
    return overridden(store, {
      update: async (key, value, options) => {
        const before = await store.get(key)
        const result = await store.update(key, value, options)
        if (result.written && before && isWrong())
          await store.update(key, before.value, { expectedRevision: result.revision })
        return result
      },
    })
  },
  'pages of a list are of different revisions': store =>
    overridden(store, {
      list: async ({ revision, ...options }) => {
        const listing = await store.list(options)
        return { ...listing, revision: revision ?? listing.revision }
      },
    }),
  'a watch of a compacted revision begins later instead of 410': store =>
    overridden(store, {
      list: async ({ revision, ...options }) => {
        const compacted = await store.compactedRevision()
        return store.list({ ...options, ...(revision && { revision: Math.max(revision, compacted) }) })
      },
      watch: options => laterWatch(store, options),
    }),
  'the watch cache misses an event': store => eventsOf(store, events => events.slice(1)),
  'the watch cache gets an event twice': store =>
    eventsOf(store, events => [...events.slice(0, 1), ...events]),
  'the watch cache has the value of another event': store => {
    let last: StoreEvent | undefined
    return eventsOf(store, events =>
      events.map(event => {
        const before = last
        last = event
        return event.type === 'put' && before?.type === 'put' ? { ...event, value: before.value } : event
      }),
    )
  },
}

const handleBugs: Readonly<Record<string, (handle: Handle) => Handle>> = {
  'a read returns the answer before': handle => {
    const answers = new Map<string, ApiResponse>()
    const isWrong = oneIn(4)
    return async request => {
      if (!isGet(request)) return handle(request)
      const before = answers.get(request.path)
      const answer = await handle(request)
      answers.set(request.path, answer)
      return before && isWrong() ? before : answer
    }
  },
  'a list has an object of the list before': handle => {
    let before: readonly Item[] = []
    return changedLists(handle, list => {
      const items = list.items.map(item => {
        return before.find(({ metadata }) => metadata.name === item.metadata.name) ?? item
      })
      before = list.items
      return { ...list, items }
    })
  },
  'a list has the revision before its own': handle =>
    changedLists(handle, list => {
      const resourceVersion = String(Number(list.metadata.resourceVersion) - 1)
      return { ...list, metadata: { ...list.metadata, resourceVersion } }
    }),
  'a watch misses an event': handle => {
    const isWrong = oneIn(wrongOneIn)
    return changedEvents(handle, chunk => (isBookmark(chunk) || !isWrong() ? [chunk] : []))
  },
  'a watch repeats an event': handle => {
    const isWrong = oneIn(wrongOneIn)
    return changedEvents(handle, chunk => (isBookmark(chunk) || !isWrong() ? [chunk] : [chunk, chunk]))
  },
  'a watch sends an event after the next one': handle => {
    const isWrong = oneIn(wrongOneIn)
    const held: StreamChunk[] = []
    return changedEvents(handle, chunk => {
      if (held.length === 0 && !isBookmark(chunk) && isWrong()) {
        held.push(chunk)
        return []
      }
      return [chunk, ...held.splice(0)]
    })
  },
  'a watch sends a wrong type of event': handle =>
    changedEvents(handle, chunk => {
      const { type, object } = eventOf(chunk)
      return [type === 'MODIFIED' ? chunkOf('ADDED', object) : chunk]
    }),
  'a deletion is not sent to watches': handle =>
    changedEvents(handle, chunk => (eventOf(chunk).type === 'DELETED' ? [] : [chunk])),
  'a bookmark is ahead of the events': handle =>
    changedEvents(handle, chunk => {
      if (!isBookmark(chunk)) return [chunk]
      const { metadata } = eventOf(chunk).object
      const resourceVersion = String(Number(metadata.resourceVersion) + 1)
      return [chunkOf('BOOKMARK', { metadata: { ...metadata, resourceVersion } })]
    }),
  'a watch that is resumed skips one revision': handle => request => {
    const { query } = request
    if (!query.has('watch') || !query.has('resourceVersion')) return handle(request)
    const later = new URLSearchParams(query)
    later.set('resourceVersion', String(Number(query.get('resourceVersion')) + 1))
    return handle({ ...request, query: later })
  },
}

const bugs: readonly (readonly [string, PlantedBug])[] = [
  ...sharedStoreBugs.map(name => [name, { store: inNamespace(sometimes(storeBugs[name]!)) }] as const),
  ...Object.entries(ownStoreBugs).map(([name, store]) => [name, { store: inNamespace(store) }] as const),
  ...Object.entries(handleBugs).map(([name, handle]) => [name, { handle }] as const),
]

for (const [name, plantedBug] of bugs) {
  test(`a planted bug is found: ${name}`, async t => {
    for (let seed = 0; seed < seedsMax; seed++) {
      const { violations } = await simulateApiHistory(seed, { plantedBug })
      if (violations.length === 0) continue
      t.diagnostic(`found with seed ${seed}: ${violations[0]!.split('\n', 1)[0]}`)
      return
    }
    assert.fail(`not found with ${seedsMax} seeds`)
  })
}

/** True for every nth call. */
function oneIn(calls: number): () => boolean {
  let count = 0
  return () => ++count % calls === 0
}

/** A bug of single writes. */
function sometimes(bug: (store: Store) => Store): (store: Store) => Store {
  return store => {
    const isWrong = oneIn(wrongOneIn)
    const wrong = bug(store)
    const drawn = (): Store => (isWrong() ? wrong : store)
    return overridden(store, {
      create: (...args) => drawn().create(...args),
      update: (...args) => drawn().update(...args),
      delete: (...args) => drawn().delete(...args),
    })
  }
}

/** Only the objects of the workload: a server that does not start shows nothing. */
function inNamespace(bug: (store: Store) => Store): (store: Store) => Store {
  return store => {
    const wrong = bug(store)
    const of = (key: string): Store => (key.startsWith(prefix) ? wrong : store)
    return overridden(wrong, {
      get: (key, ...rest) => of(key).get(key, ...rest),
      list: options => of(options.prefix).list(options),
      create: (key, ...rest) => of(key).create(key, ...rest),
      update: (key, ...rest) => of(key).update(key, ...rest),
      delete: (key, ...rest) => of(key).delete(key, ...rest),
    })
  }
}

/** Changes some of the events of the workload's objects. */
function eventsOf(store: Store, change: (events: readonly StoreEvent[]) => readonly StoreEvent[]): Store {
  const isWrong = oneIn(wrongOneIn)
  return withChangedWatches(store, batch => {
    const isOwn = batch.events.length > 0 && batch.events.every(({ key }) => key.startsWith(prefix))
    return isOwn && isWrong() ? { ...batch, events: change(batch.events) } : batch
  })
}

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
}

interface ItemList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly Item[]
}

function isGet({ method, path, query }: ApiRequest): boolean {
  return method === 'GET' && path.startsWith(`${collection}/`) && !query.has('resourceVersion')
}

function changedLists(handle: Handle, change: (list: ItemList) => ItemList): Handle {
  return async request => {
    const response = await handle(request)
    const { method, path } = request
    const isList = method === 'GET' && path === collection && response.body?.type === 'value'
    if (!isList || response.status !== 200) return response
    return valueResponse(change((response.body as { value: unknown }).value as ItemList), 200)
  }
}

interface Event {
  readonly type: string
  readonly object: Item
}

function eventOf({ value }: StreamChunk): Event {
  return value as Event
}

function isBookmark(chunk: StreamChunk): boolean {
  return eventOf(chunk).type === 'BOOKMARK'
}

/** Changes the events of watches of the workload's objects, after the initial ones. */
function changedEvents(handle: Handle, change: (chunk: StreamChunk) => readonly StreamChunk[]): Handle {
  return async request => {
    const response = await handle(request)
    const { body } = response
    if (request.path !== collection || body?.type !== 'stream' || request.query.has('sendInitialEvents')) {
      return response
    }
    async function* changed(
      chunks: AsyncIterable<readonly StreamChunk[]>,
    ): AsyncGenerator<readonly StreamChunk[], void, undefined> {
      for await (const batch of chunks) yield batch.flatMap(change)
    }
    return { ...response, body: { ...body, chunks: changed(body.chunks) } }
  }
}

/** Begins at the compacted revision if the requested one is older. */
function laterWatch(store: Store, options: Parameters<Store['watch']>[0]): ReturnType<Store['watch']> {
  let isProgressWanted = false
  return {
    requestProgress: () => {
      isProgressWanted = true
    },
    async *[Symbol.asyncIterator]() {
      const afterRevision = Math.max(options.afterRevision, await store.compactedRevision())
      const watch = store.watch({ ...options, afterRevision })
      if (isProgressWanted) watch.requestProgress()
      yield* watch
    },
  }
}
