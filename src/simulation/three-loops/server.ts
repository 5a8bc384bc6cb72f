/**
 * The store's host: the embedded store on the simulated disk, requests over datagrams, watch events over
 * streams.
 */
import type { Duplex } from 'node:stream'
import type { Platform } from '#/platform/platform.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import type { Entry, Store, StoreEvent } from '#/store/store.ts'
import {
  decodeNote,
  decodeRequest,
  encode,
  requestPort,
  watchPort,
  type StoreResponse,
  type NoteEvent,
  type Progress,
  type StoreRequest,
  type StoredNote,
} from './messages.ts'

const folder = '/store'

/** Opens the store and serves it. */
export async function bootStore(platform: Platform): Promise<Store> {
  const store = await EmbeddedStore.open({ platform, folder })
  platform.log.info('opened the store', { revision: await store.revision() })
  const address = { host: '0.0.0.0', port: requestPort }
  const socket = await platform.network.bindDatagram(address, (message, from) => {
    const { id, content } = decodeRequest(message)
    respond(store, content).then(
      responded => socket.send(encode({ id, content: responded }), from),
      // No response is sent, since it is unknown whether the write happened.
      error => platform.log.warn('no response', { error }),
    )
  })
  await platform.network.listen({ host: '0.0.0.0', port: watchPort }, connection => {
    streamEvents(store, connection).catch(error => {
      platform.log.warn('watch ended', { error })
      connection.destroy()
    })
  })
  return store
}

export function toNoteEvent(event: StoreEvent): NoteEvent {
  const { key, revision } = event
  if (event.type === 'delete') return { kind: 'delete', key, revision }
  const { writer, sequence } = decodeNote(event.value)
  return { kind: 'put', key, revision, writer, sequence }
}

async function respond(store: Store, request: StoreRequest): Promise<StoreResponse> {
  if (request.verb === 'get') return { outcome: 'found', ...stored(await store.get(request.key)) }
  const { key, expectedRevision } = request
  const result = await (request.verb === 'delete'
    ? store.delete(key, { expectedRevision })
    : expectedRevision === 0
      ? store.create(key, encode(request.note))
      : store.update(key, encode(request.note), { expectedRevision }))
  if (result.written) return { outcome: 'written', revision: result.revision }
  return { outcome: 'lost-race', ...stored(result.current) }
}

function stored(entry: Entry | undefined): { stored?: StoredNote } {
  return entry === undefined ? {} : { stored: { revision: entry.revision, note: decodeNote(entry.value) } }
}

/** The first line from the client is the start revision; each line in response is a `Progress`. */
async function streamEvents(store: Store, connection: Duplex): Promise<void> {
  const controller = new AbortController()
  connection.once('close', () => controller.abort())
  const afterRevision = Number(await firstLine(connection))
  for await (const batch of store.watch({ prefix: '/', afterRevision, signal: controller.signal })) {
    const progress: Progress = { revision: batch.revision, events: batch.events.map(toNoteEvent) }
    if (!connection.write(`${JSON.stringify(progress)}\n`)) await drained(connection)
  }
}

async function firstLine(connection: Duplex): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  connection.on('data', (piece: Buffer) => {
    text += piece.toString()
    if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
  })
  connection.once('close', () => reject(new Error('closed before the first line')))
  return promise
}

function drained(connection: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  connection.once('drain', resolve)
  connection.once('close', resolve)
  return promise
}
