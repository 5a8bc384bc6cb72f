import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, isApiError } from '#/api/errors.ts'
import { Simulation } from '#/platform/simulated.ts'
import { clientOf, type Client } from './client.ts'
import { listWrites, NoHistoryError, readObjectHistory } from './list-writes.ts'
import type { TransportRequest } from './transport.ts'
import { readWatchFrames } from './watch-frames.ts'

/** A client of a server that answers each request in the same way. */
function clientFor(status: number, text: string, requests: TransportRequest[] = []): Client {
  const bytes = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(text)
  }
  const transport = {
    request: async (request: TransportRequest) => {
      requests.push(request)
      const value = async (): Promise<unknown> => JSON.parse(text)
      const events = (): AsyncIterable<readonly unknown[]> => readWatchFrames(bytes())
      return { status, headers: {}, value, events, bytes, discard: () => undefined }
    },
  }
  return clientOf({ platform: new Simulation({ seed: 1 }).host('client'), transport, userAgent: 'test' })
}

const notFound = JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 })

test('the first line describes the list, the others are the writes', async () => {
  const requests: TransportRequest[] = []
  const header = { retainedSince: { revision: 3, time: '2026-01-31T08:00:00.000Z' }, revision: 9 }
  const text = [header, { revision: 4 }, { revision: 9 }].map(line => `${JSON.stringify(line)}\n`).join('')
  const { writes, ...read } = await listWrites(clientFor(200, text, requests), {
    after: 3,
    sinceMs: 1_000,
    namespace: 'shop',
  })
  assert.deepEqual(read, header)
  assert.deepEqual(
    (await Array.fromAsync(writes)).map(({ revision }) => revision),
    [4, 9],
  )
  assert.equal(requests[0]?.path, '/k8ts/writes')
  assert.equal(requests[0]?.query.toString(), 'after=3&since=1970-01-01T00%3A00%3A01.000Z&namespace=shop')
})

test('a Status among the writes is an error', async () => {
  const header = { retainedSince: { revision: 3, time: '' }, revision: 9 }
  const status = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410, message: 'too slow' }
  const text = [header, { revision: 4 }, status].map(line => `${JSON.stringify(line)}\n`).join('')
  const { writes } = await listWrites(clientFor(200, text), { follow: true })
  await assert.rejects(Array.fromAsync(writes), error => isApiError(error, 'Expired'))
})

test('a server that does not know the requests keeps no history', async () => {
  await assert.rejects(listWrites(clientFor(404, notFound), {}), NoHistoryError)
  await assert.rejects(listWrites(clientFor(200, ''), {}), NoHistoryError)
  const pod = JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web-0' } })
  const path = '/api/v1/namespaces/shop/pods/web-0'
  await assert.rejects(readObjectHistory(clientFor(200, pod), path, { limit: 1 }), NoHistoryError)
  await assert.rejects(readObjectHistory(clientFor(404, notFound), path, { limit: 1 }), ApiError)
})
