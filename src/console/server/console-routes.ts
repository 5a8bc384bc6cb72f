import { ApiError } from '#/api/errors.ts'
import { messageOf } from '#/base/message-of.ts'
import { HttpBodyError, type HttpExchange } from '#/platform/http.ts'
import type { ConsoleCluster, ConsoleOptions } from '../console-server.ts'
import { answerJson, refuse, type ConsoleRefusal } from './answers.ts'
import { forwardToApiServer } from './forward-to-api-server.ts'
import { isPageFile, servePageFile } from './page-files.ts'
import { validateRequestOrigin } from './request-origin.ts'
import { describeSession, redeemLink } from './session-routes.ts'
import { sessionTokenOf } from './session-token.ts'
import type { Session, Sessions } from './sessions.ts'
import { serveStreams } from './stream-multiplexer.ts'

export interface ConsoleRoutesOptions extends Pick<ConsoleOptions, 'platform' | 'preparePage'> {
  readonly port: number
  readonly sessions: Sessions
  readonly cluster: () => Promise<ConsoleCluster>
}

/** Answers the requests of a console. */
export function consoleRoutes(options: ConsoleRoutesOptions): (exchange: HttpExchange) => void {
  return exchange => void answer(exchange, options)
}

const noSession: ConsoleRefusal = { reason: 'NoSession', message: 'this needs a session: open a new link' }

/** A route of a signed-in page. */
interface SignedIn extends ConsoleRoutesOptions {
  readonly session: Session
  readonly token: string
  /** Without the query. */
  readonly path: string
}

async function answer(exchange: HttpExchange, options: ConsoleRoutesOptions): Promise<void> {
  try {
    const refusal = validateRequestOrigin(exchange, options.port)
    if (refusal !== undefined) return refuse(exchange, refusal)
    const [path = ''] = exchange.target.split('?')
    if (isPageFile(path)) return await servePageFile(exchange, options)
    if (path === '/session' && exchange.method === 'POST') return await redeemLink(exchange, options)
    const token = sessionTokenOf(exchange)
    if (token !== undefined && path === '/session/link') return issueLink(exchange, options.sessions, token)
    const session = token === undefined ? undefined : options.sessions.find(token)
    if (token === undefined || session === undefined) {
      return refuse(exchange, noSession)
    }
    await answerSignedIn(exchange, { ...options, session, token, path })
  } catch (error) {
    if (exchange.closed) return
    if (error instanceof HttpBodyError)
      return refuse(exchange, { reason: 'BadRequest', message: error.message })
    options.platform.log.warn('Console request failed', { target: exchange.target, error })
    refuse(exchange, { reason: 'Unavailable', message: messageOf(error) })
  }
}

async function answerSignedIn(exchange: HttpExchange, route: SignedIn): Promise<void> {
  const { path, session, sessions, token, platform, cluster } = route
  const request = `${exchange.method} ${path}`
  if (path.startsWith('/api-server/')) {
    return forwardToApiServer(exchange, { cluster: await cluster(), signal: session.signal })
  }
  if (path.startsWith('/why/')) return explain(exchange, route)
  if (request === 'GET /streams') {
    return serveStreams(exchange, {
      platform,
      cluster: await cluster(),
      session,
      renew: () => sessions.find(token),
    })
  }
  if (request === 'GET /session') return describeSession(exchange, route)
  if (request === 'DELETE /session') {
    sessions.end(token)
    return answerJson(exchange, 200, {})
  }
  refuse(exchange, { reason: 'NotFound', message: `${request} is not served` })
}

/** `POST /session/link`: another one-time token, for another tab. */
function issueLink(exchange: HttpExchange, sessions: Sessions, token: string): void {
  if (exchange.method !== 'POST') {
    return refuse(exchange, { reason: 'MethodNotAllowed', message: 'a link is made by POST' })
  }
  if (!sessions.mayIssueLinks(token)) return refuse(exchange, noSession)
  answerJson(exchange, 200, { token: sessions.issueLinkToken() })
}

/** `GET /why/KIND/NAME?namespace=NAMESPACE` */
async function explain(exchange: HttpExchange, { path, cluster }: SignedIn): Promise<void> {
  const target = whyTarget(exchange, path)
  if ('reason' in target) return refuse(exchange, target)
  const { explain } = await cluster()
  try {
    answerJson(exchange, 200, await explain(target))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    answerJson(exchange, error.status.code ?? 500, error.status)
  }
}

function whyTarget(
  { method, target }: HttpExchange,
  path: string,
): ConsoleRefusal | { readonly kind: string; readonly name: string; readonly namespace?: string } {
  if (method !== 'GET') return { reason: 'MethodNotAllowed', message: 'a diagnosis can only be read' }
  const [kind, name, ...more] = path.slice('/why/'.length).split('/').map(decoded)
  if (!kind || !name || more.length > 0)
    return { reason: 'BadRequest', message: 'the path is /why/KIND/NAME' }
  const namespace = new URLSearchParams(target.slice(path.length + 1)).get('namespace')
  return { kind, name, ...(namespace && { namespace }) }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
