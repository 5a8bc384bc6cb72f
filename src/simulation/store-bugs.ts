/** Bugs that a store could have, by name. They are planted to prove that simulations find them. */
import type { Store, StoreEvent, WriteResult } from '#/store/store.ts'
import { overridden, withChangedWatches } from './overridden-store.ts'

export const storeBugs: Readonly<Record<string, (store: Store) => Store>> = {
  'updates ignore the expected revision': store =>
    overridden(store, {
      update: async (key, value, options) => {
        for (;;) {
          const { revision = 0 } = (await store.get(key)) ?? {}
          const result = await store.update(key, value, { ...options, expectedRevision: revision })
          if (result.written || revision === 0) return result
        }
      },
    }),
  'an update is acknowledged and not written': store =>
    overridden(store, { update: async () => ({ written: true, revision: (await store.revision()) + 1 }) }),
  'a creation is acknowledged and not written': store =>
    overridden(store, { create: async () => ({ written: true, revision: (await store.revision()) + 1 }) }),
  'a deletion is acknowledged and not written': store =>
    overridden(store, { delete: async () => ({ written: true, revision: (await store.revision()) + 1 }) }),
  'a write that happened is reported as lost': store =>
    overridden(store, {
      update: async (key, value, options) => {
        await store.update(key, value, options)
        return { written: false, current: undefined }
      },
    }),
  'a revision is given twice': store =>
    overridden(store, {
      update: async (...args) => shifted(await store.update(...args), -1),
      create: async (...args) => shifted(await store.create(...args), -1),
    }),
  'reads return the version before': store =>
    overridden(store, {
      get: async key => {
        const entry = await store.get(key)
        const compacted = await store.compactedRevision()
        if (entry === undefined || entry.revision - 1 < compacted) return entry
        return (await store.get(key, { revision: entry.revision - 1 })) ?? entry
      },
    }),
  'deleted keys are read': store => {
    const seen = new Map<string, Awaited<ReturnType<Store['get']>>>()
    return overridden(store, {
      get: async key => {
        const entry = await store.get(key)
        if (entry) seen.set(key, entry)
        return entry ?? seen.get(key)
      },
    })
  },
  'a list misses its last entry': store =>
    overridden(store, {
      list: async options => {
        const listing = await store.list(options)
        return { ...listing, entries: listing.entries.slice(0, -1) }
      },
    }),
  'a list has the value of another key': store =>
    overridden(store, {
      list: async options => {
        const { entries, ...listing } = await store.list(options)
        return { ...listing, entries: entries.map(entry => ({ ...entry, value: entries[0]!.value })) }
      },
    }),
  'a watch misses an event': store => watching(store, events => events.slice(1)),
  'a watch repeats an event': store => watching(store, events => [...events.slice(0, 1), ...events]),
  'a watch delivers events in the wrong order': store => watching(store, events => events.toReversed()),
  'a watch has the value of another event': store =>
    watching(store, events => {
      const first = events.find(event => event.type === 'put')
      return events.map(event => (event.type === 'put' && first ? { ...event, value: first.value } : event))
    }),
  'a watch has the note of another event': store =>
    watching(store, events => {
      const { note } = events.find(event => event.note) ?? {}
      return events.map(event => ({ ...event, note }))
    }),
  'deletions have no notes': store =>
    overridden(store, { delete: (key, { expectedRevision }) => store.delete(key, { expectedRevision }) }),
  'the revision falls when the store is opened': store =>
    overridden(store, { revision: async () => (await store.revision()) - 1 }),
}

function shifted(result: WriteResult, by: number): WriteResult {
  return result.written ? { written: true, revision: result.revision + by } : result
}

function watching(store: Store, change: (events: readonly StoreEvent[]) => readonly StoreEvent[]): Store {
  return withChangedWatches(store, batch => ({ ...batch, events: change(batch.events) }))
}
