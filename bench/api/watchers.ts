/** Measures how fast changes reach many watches of one list. */
import { connect } from 'node:http2'
import { runLoad, type Target } from './load.ts'

export interface WatchersOptions {
  readonly watchers: number
  readonly events: number
  readonly path: string
}

export async function runWatchers(
  target: Target,
  { watchers, events, path }: WatchersOptions,
): Promise<void> {
  const session = connect(`https://localhost:${target.port}`, {
    ca: target.ca,
    cert: target.cert,
    key: target.key,
  })
  let lines = 0
  const done = Promise.withResolvers<void>()
  const open: Promise<void>[] = []
  for (let index = 0; index < watchers; index++) {
    const stream = session.request({ ':path': `${path}?watch=1&resourceVersion=0&labelSelector=bench%3Dyes` })
    open.push(
      new Promise(resolve => {
        stream.once('response', () => resolve())
      }),
    )
    stream.on('data', (bytes: Buffer) => {
      for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++
      if (lines >= watchers * events) done.resolve()
    })
  }
  await Promise.all(open)
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
        metadata: { name: `watched-${number}`, labels: { bench: 'yes' } },
        data: { a: 'b' },
      }),
  })
  await done.promise
  const seconds = (performance.now() - started) / 1_000
  session.destroy()
  console.log(
    `watch: ${watchers} watchers x ${events} events: ${Math.round((watchers * events) / seconds)} events/s`,
  )
}
