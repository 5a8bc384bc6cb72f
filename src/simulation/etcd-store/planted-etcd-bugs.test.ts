/** Bugs planted into the etcd client and under it: each is found by the simulation within a few seeds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, type GrpcCallOptions, type GrpcChannel, type GrpcConnect } from '#/platform/grpc.ts'
import {
  RangeRequest,
  RangeResponse,
  TxnResponse,
  WatchRequest,
  WatchResponse,
} from '#/store/etcd-messages.ts'
import type { Store, Watch, WatchBatch } from '#/store/store.ts'
import { simulateEtcdStore, type PlantedEtcdBug } from '../etcd-store.ts'
import { overridden } from '../overridden-store.ts'

const seedsMax = 200

type Unary = (method: string, request: Uint8Array, options?: GrpcCallOptions) => Promise<Uint8Array>

/** Bugs of the requests and responses. */
const requestBugs: Readonly<Record<string, (unary: Unary) => Unary>> = {
  'a transaction with an unknown outcome is repeated': unary => async (method, request, options) => {
    try {
      return await unary(method, request, options)
    } catch (error) {
      if (!method.endsWith('/Txn') || (error as GrpcError).code !== 'unavailable') throw error
      return unary(method, request, options)
    }
  },
  'a lost connection counts as a request that was not sent':
    unary =>
    (...args) =>
      unary(...args).catch((error: GrpcError) => {
        throw new GrpcError(error.code, error.details, { sent: false })
      }),
  'a change of the leader counts as a refusal':
    unary =>
    (...args) =>
      unary(...args).catch((error: GrpcError) => {
        const details = error.details.replace('leader changed', 'no leader')
        throw new GrpcError(error.code, details, { sent: error.sent })
      }),
  'a transaction that timed out counts as failed': unary => async (method, request, options) => {
    try {
      return await unary(method, request, options)
    } catch (error) {
      if (!method.endsWith('/Txn') || (error as GrpcError).code !== 'deadline-exceeded') throw error
      return TxnResponse.encode({ header: { revision: 1 }, succeeded: false, responses: [] })
    }
  },
  'reads are served at the newest revision that the client has seen': unary => {
    let newest = 0
    return async (method, request, options) => {
      const isRange = method.endsWith('/Range')
      const range = isRange ? RangeRequest.decode(request) : undefined
      const isRead = range !== undefined && range.revision === 0 && !range.countOnly && newest > 0
      const bytes = isRead ? RangeRequest.encode({ ...range, revision: newest }) : request
      const response = await unary(method, bytes, options)
      if (isRange) newest = Math.max(newest, RangeResponse.decode(response).header?.revision ?? 0)
      return response
    }
  },
  'reads are answered from a cache': unary => {
    const cache = new Map<string, Uint8Array>()
    return async (method, request, options) => {
      const key = `${method} ${Buffer.from(request).toString('hex')}`
      const cached = method.endsWith('/Range') ? cache.get(key) : undefined
      cache.delete(key)
      if (cached) return cached
      const response = await unary(method, request, options)
      cache.set(key, response)
      return response
    }
  },
  'the revision of a lagging member goes back': unary => {
    let before: number | undefined
    return async (method, request, options) => {
      const response = await unary(method, request, options)
      if (!method.endsWith('/Range') || !RangeRequest.decode(request).countOnly) return response
      const { header, ...rest } = RangeResponse.decode(response)
      const revision = before ?? header?.revision ?? 0
      before = header?.revision
      return RangeResponse.encode({ ...rest, header: { revision } })
    }
  },
  'a page of a list is taken for the whole list': unary => async (method, request, options) => {
    const response = await unary(method, request, options)
    if (!method.endsWith('/Range')) return response
    return RangeResponse.encode({ ...RangeResponse.decode(response), more: false, count: 0 })
  },
}

/** Bugs of watches: the requests that are sent and the responses that arrive. */
const streamBugs: Readonly<Record<string, StreamBug>> = {
  'a watch is resumed one revision too late': {
    request: (bytes, number) => {
      const { createRequest } = WatchRequest.decode(bytes)
      const startRevision = (createRequest?.startRevision ?? 0) + (number > 0 ? 1 : 0)
      return WatchRequest.encode({ createRequest: { ...createRequest!, startRevision } })
    },
  },
  'fragments are taken for whole responses': {
    response: bytes => WatchResponse.encode({ ...WatchResponse.decode(bytes), fragment: false }),
  },
  'a canceled watch is not restarted': {
    response: bytes => {
      const response = WatchResponse.decode(bytes)
      return response.compactRevision > 0 ? bytes : WatchResponse.encode({ ...response, canceled: false })
    },
    keepsTarget: true,
  },
}

interface StreamBug {
  /** `number` counts the streams of a channel. */
  readonly request?: (bytes: Uint8Array, number: number) => Uint8Array
  readonly response?: (bytes: Uint8Array) => Uint8Array
  /** Streams of members that hang are not abandoned. */
  readonly keepsTarget?: boolean
}

/** Bugs of the store. */
const storeBugs: Readonly<Record<string, (store: Store) => Partial<Store>>> = {
  'progress is reported before the events are delivered': store => ({
    watch: options =>
      changedWatch(store.watch(options), async function* (batches) {
        for await (const batch of batches) {
          const revision = await store.revision()
          yield { ...batch, revision: Math.max(revision, batch.revision) }
        }
      }),
  }),
  'a watch starts after the newest revision': store => ({
    watch: options =>
      changedWatch(store.watch(options), async function* (batches) {
        const newest = await store.revision()
        for await (const { revision, events } of batches)
          yield { revision, events: events.filter(event => event.revision > newest) }
      }),
  }),
  'a write with an unknown outcome is reported as refused': store => ({
    create: (key, value, options) =>
      store.create(key, value, options).catch(() => ({ written: false, current: undefined })),
  }),
  'a write with an unknown outcome is reported as done': store => ({
    update: async (key, value, options) => {
      const revision = options.expectedRevision + 1
      return store.update(key, value, options).catch(() => ({ written: true, revision }))
    },
  }),
}

const bugs: readonly (readonly [string, PlantedEtcdBug])[] = [
  ...Object.entries(requestBugs).map(([name, plant]) => [name, { connect: plantedUnary(plant) }] as const),
  ...Object.entries(streamBugs).map(([name, bug]) => [name, { connect: plantedStream(bug) }] as const),
  ...Object.entries(storeBugs).map(
    ([name, plant]) => [name, { store: (store: Store) => overridden(store, plant(store)) }] as const,
  ),
]

for (const [name, plantedBug] of bugs) {
  test(`a planted bug is found: ${name}`, async t => {
    for (let seed = 0; seed < seedsMax; seed++) {
      const { violations } = await simulateEtcdStore(seed, { plantedBug })
      if (violations.length === 0) continue
      t.diagnostic(`found with seed ${seed}: ${violations[0]}`)
      return
    }
    assert.fail(`not found with ${seedsMax} seeds`)
  })
}

function plantedUnary(plant: (unary: Unary) => Unary): (connect: GrpcConnect) => GrpcConnect {
  return connect => options => {
    const channel = connect(options)
    return overridingChannel(channel, { unary: plant((...args) => channel.unary(...args)) })
  }
}

function plantedStream(bug: StreamBug): (connect: GrpcConnect) => GrpcConnect {
  const { request = (bytes: Uint8Array) => bytes, response = (bytes: Uint8Array) => bytes, keepsTarget } = bug
  return connect => options => {
    const channel = connect(options)
    let number = 0
    const stream: GrpcChannel['stream'] = (...args) => {
      const real = channel.stream(...args)
      const own = number++
      return {
        send: message => real.send(request(message, own)),
        end: () => real.end(),
        cancel: () => real.cancel(),
        abandonTarget: () => (keepsTarget ? undefined : real.abandonTarget()),
        async *[Symbol.asyncIterator]() {
          for await (const bytes of real) yield response(bytes)
        },
      }
    }
    return overridingChannel(channel, { stream })
  }
}

function overridingChannel(channel: GrpcChannel, overrides: Partial<GrpcChannel>): GrpcChannel {
  return {
    unary: (...args) => channel.unary(...args),
    stream: (...args) => channel.stream(...args),
    [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
    ...overrides,
  }
}

function changedWatch(
  watch: Watch,
  change: (batches: AsyncIterable<WatchBatch>) => AsyncGenerator<WatchBatch, void, undefined>,
): Watch {
  return { requestProgress: () => watch.requestProgress(), [Symbol.asyncIterator]: () => change(watch) }
}
