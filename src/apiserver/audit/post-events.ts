import type { Remote } from '../settings/reading.ts'
import { RemoteServer, type RemoteServerOptions } from '../remote-server.ts'

export interface PostEventsOptions extends Pick<RemoteServerOptions, 'clock' | 'connectHttp'> {
  readonly remote: Remote
}

/** How long a service may take for a batch, and what of its answer is read. */
const timeoutMs = 30_000
const answerBytesMax = 1024 * 1024

/** Sends events to a service. All that counts of its answer is whether it took them. */
export function postEvents(options: PostEventsOptions): (body: string) => Promise<void> {
  const { clock, connectHttp, remote } = options
  const { origin, pathname, search } = new URL(remote.url)
  const server = new RemoteServer({
    clock,
    connectHttp,
    origin,
    answerBytesMax,
    ...(remote.tls && { tls: remote.tls }),
  })
  return async body => {
    const question = { path: `${pathname}${search}`, body: Buffer.from(body), timeoutMs }
    const { status } = await server.ask({ ...question, ...(remote.headers && { headers: remote.headers }) })
    if (status < 200 || status > 299) throw new Error(`the answer has status ${status}`)
  }
}
