import type { HttpExchange } from '#/platform/http.ts'
import type { ConsoleCluster } from '../console-server.ts'
import { answerJson, refuse } from './answers.ts'
import type { ConsoleRoutesOptions } from './console-routes.ts'

const bodyBytesMax = 4_096
/** After it, the name in the kubeconfig has to do. */
const reviewTimeoutMs = 3_000

/** `POST /session`: exchanges the one-time token of a link for a session. */
export async function redeemLink(exchange: HttpExchange, options: ConsoleRoutesOptions): Promise<void> {
  const { sessions } = options
  // A form of another site cannot have this media type.
  if (!/^application\/json\s*(?:;|$)/i.test(exchange.headers['content-type'] ?? '')) {
    return refuse(exchange, { reason: 'BadRequest', message: 'the content type must be application/json' })
  }
  if (!sessions.admitAttempt()) {
    return refuse(exchange, {
      reason: 'TooManyRequests',
      message: 'too many attempts: try again in a second',
    })
  }
  const token = tokenIn(await exchange.readBody(bodyBytesMax))
  const sessionToken = token === undefined ? undefined : sessions.redeem(token)
  if (sessionToken === undefined) {
    const message = 'the link has been used or has expired: run k8ts console for another'
    return refuse(exchange, { reason: 'NoSession', message })
  }
  answerJson(exchange, 200, { sessionToken, ...(await sessionDetails(options)) })
}

/** `GET /session` */
export async function describeSession(exchange: HttpExchange, options: ConsoleRoutesOptions): Promise<void> {
  answerJson(exchange, 200, await sessionDetails(options))
}

function tokenIn(body: Uint8Array): string | undefined {
  try {
    const { token } = JSON.parse(Buffer.from(body).toString()) as { readonly token?: unknown }
    return typeof token === 'string' ? token : undefined
  } catch {
    return undefined
  }
}

async function sessionDetails({ cluster, platform }: ConsoleRoutesOptions): Promise<object> {
  const connected = await cluster()
  const late = new AbortController()
  const timer = platform.clock.setTimer(reviewTimeoutMs, () => late.abort(new Error('no answer in time')))
  const user = await reviewedUser(connected, late.signal).catch((error: unknown) => {
    platform.log.info('The API server does not tell the user of the console', { error })
    return undefined
  })
  timer.cancel()
  return { user: user ?? connected.user, cluster: connected.cluster, contextNamespace: connected.namespace }
}

/** The name by which the API server knows the user. */
async function reviewedUser({ transport }: ConsoleCluster, signal: AbortSignal): Promise<string | undefined> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const response = await transport.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    query: new URLSearchParams(),
    headers: { accept: 'application/json' },
    body: { mediaType: 'application/json', value: review },
    signal,
  })
  const answer = (await response.value()) as
    | { readonly status?: { readonly userInfo?: { readonly username?: unknown } } }
    | undefined
  const username = answer?.status?.userInfo?.username
  return typeof username === 'string' ? username : undefined
}
