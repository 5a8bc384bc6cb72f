import type { WebhookTarget } from '#/kubeconfig/webhook-kubeconfig.ts'
import { RemoteServer, type RemoteServerOptions } from '../remote-server.ts'

export interface PostEventsOptions extends Pick<RemoteServerOptions, 'clock' | 'connectHttp'> {
  readonly remote: WebhookTarget
}

/** Bounds for one batch: request timeout and response size. */
const timeoutMs = 30_000
const answerBytesMax = 1024 * 1024

/** Posts audit events to a webhook; any status but 2xx is a failure. */
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
    const { status } = await server.request({
      ...question,
      ...(remote.headers && { headers: remote.headers }),
    })
    if (status < 200 || status > 299) throw new Error(`unexpected status ${status}`)
  }
}
