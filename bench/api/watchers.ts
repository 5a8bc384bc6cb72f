/** Measures how fast changes reach many watches of one list. */
import { headerBlock, Http2Connection } from './http2-connection.ts'
import { runLoad, type Target } from './load.ts'

export interface WatchersOptions {
  readonly watchers: number
  readonly events: number
  readonly path: string
  /** Distinguishes the objects of this run from those of others. */
  readonly name: string
}

/** Events per second, over all watchers. */
export async function runWatchers(
  target: Target,
  { watchers, events, path, name }: WatchersOptions,
): Promise<number> {
  let open = 0
  let received = 0
  let expected = watchers * events
  const [allOpen, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const connect = (): Promise<Http2Connection> => {
    const linesOfStreams = new Map<number, number>()
    return Http2Connection.open(target, ({ streamId, data, isLast }) => {
      if (data.length === 0 && ++open === watchers) allOpen.resolve()
      const lines = countLines(data)
      received += lines
      linesOfStreams.set(streamId, (linesOfStreams.get(streamId) ?? 0) + lines)
      // A server may end a watch that it considers too slow.
      if (isLast) expected -= events - linesOfStreams.get(streamId)!
      if (received >= expected) done.resolve()
    })
  }
  const connections: Http2Connection[] = []
  const watch = headerBlock(target, {
    path: `${path}?watch=1&resourceVersion=0&labelSelector=bench%3D${name}`,
  })
  for (let index = 0; index < watchers; index++) {
    if (index % streamsOfConnection === 0) connections.push(await connect())
    connections.at(-1)!.request(watch)
  }
  for (const connection of connections) connection.onError(done.reject)
  await allOpen.promise
  const started = performance.now()
  await runLoad(target, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    requests: events,
    concurrency: 16,
    connections: 1,
    body: number =>
      JSON.stringify({
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name: `${name}-${number}`, labels: { bench: name } },
        data: { a: 'b' },
      }),
  })
  await done.promise
  const seconds = (performance.now() - started) / 1_000
  for (const connection of connections) connection.close()
  return received / seconds
}

function countLines(data: Buffer): number {
  let lines = 0
  for (let at = data.indexOf(newline); at !== -1; at = data.indexOf(newline, at + 1)) lines++
  return lines
}

const newline = 0x0a

/** Fewer than servers allow. */
const streamsOfConnection = 50
