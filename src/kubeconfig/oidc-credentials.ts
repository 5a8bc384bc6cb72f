/**
 * The `oidc` auth provider: an ID token of an OpenID Connect issuer, which is renewed by a refresh token shortly before
 * it expires. New tokens are written to the kubeconfig file, since the issuer may accept a refresh token only once.
 */
import { messageOf } from '#/base/message-of.ts'
import { readAll } from '#/base/read-all.ts'
import type { HttpClient, HttpClientOptions, HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { CredentialsError, type Credentials } from './credentials.ts'

/** The configuration of an auth provider, and where it is. */
export interface AuthProviderSettings {
  readonly name: string
  readonly config: AuthProviderConfig
  readonly userName: string
  /** Kubeconfig file; absent if the settings are from elsewhere. */
  readonly file?: string
}

export type AuthProviderConfig = Readonly<Record<string, string>>

export interface OidcOptions {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  readonly settings: AuthProviderSettings
  /** The proxy for a server. */
  readonly proxyOf?: (origin: string) => string | undefined
}

/** A token that expires within this time is renewed. */
const renewMs = 10_000

/** Throws Error if required settings are missing. */
export function oidcCredentials(options: OidcOptions): Credentials {
  let { config } = options.settings
  for (const name of ['idp-issuer-url', 'client-id'])
    if (!config[name]) throw new Error(`Must provide ${name}`)
  let renewing: Promise<AuthProviderConfig> | undefined
  const currentToken = async (): Promise<string> => {
    const token = config['id-token']
    if (token && isFresh(options.platform, token)) return token
    // Concurrent requests share one renewal, and an aborted request does not cancel it.
    renewing ??= renew(options, config).finally(() => {
      renewing = undefined
    })
    config = await renewing
    return config['id-token']!
  }
  return {
    current: async () => {
      try {
        return { headers: { authorization: `Bearer ${await currentToken()}` } }
      } catch (error) {
        throw new CredentialsError(messageOf(error), { cause: error })
      }
    },
    onUnauthorized: () => false,
  }
}

function isFresh({ clock }: Platform, text: string): boolean {
  const [, claims = '', ...others] = text.split('.')
  if (others.length !== 1) throw new Error('ID Token is not a valid JWT')
  const { exp } = readObject(Buffer.from(claims, 'base64url').toString(), 'parsing claims')
  return typeof exp === 'number' && clock.now() + renewMs < exp * 1_000
}

async function renew(options: OidcOptions, config: AuthProviderConfig): Promise<AuthProviderConfig> {
  const refreshToken = config['refresh-token']
  if (!refreshToken) throw new Error('No valid id-token, and cannot refresh without refresh-token')
  const tls = await tlsOf(options.platform, config)
  const endpoint = await findTokenEndpoint(options, tls, config['idp-issuer-url']!)
  const answer = await requestToken(options, { tls, endpoint, config, refreshToken })
  const { id_token: idToken, refresh_token: newRefreshToken } = answer
  if (typeof idToken !== 'string') {
    throw new Error(
      'token response did not contain an id_token, either the scope "openid" wasn\'t requested upon login, ' +
        "or the provider doesn't support id_tokens as part of the refresh response",
    )
  }
  const isReplaced = typeof newRefreshToken === 'string' && newRefreshToken !== ''
  const renewed = {
    ...config,
    'id-token': idToken,
    'refresh-token': isReplaced ? newRefreshToken : refreshToken,
  }
  await persist(options, renewed)
  return renewed
}

type Tls = NonNullable<HttpClientOptions['tls']>

async function tlsOf({ files }: Platform, config: AuthProviderConfig): Promise<Tls> {
  const data = config['idp-certificate-authority-data']
  if (data) return { ca: Buffer.from(data, 'base64') }
  const file = config['idp-certificate-authority']
  return file ? { ca: await files.read(file) } : {}
}

/** Limit of a response of the issuer. */
const responseBytesMax = 1024 * 1024

const responseTimeoutMs = 30_000

interface Answer {
  readonly status: number
  readonly text: string
}

interface IssuerRequest {
  readonly tls: Tls
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent by POST. */
  readonly form?: URLSearchParams
}

async function ask(
  { connectHttp, platform: { clock }, proxyOf }: OidcOptions,
  { tls, url, headers, form }: IssuerRequest,
): Promise<Answer> {
  const { origin, pathname, search } = new URL(url)
  const proxy = proxyOf?.(origin)
  await using client: HttpClient = connectHttp({ origin, tls, ...(proxy !== undefined && { proxy }) })
  const controller = new AbortController()
  const timer = clock.setTimer(responseTimeoutMs, () =>
    controller.abort(new Error(`no response of ${origin}`)),
  )
  try {
    const { status, body } = await client.request({
      method: form === undefined ? 'GET' : 'POST',
      path: `${pathname}${search}`,
      signal: controller.signal,
      headers: { accept: 'application/json', ...(form && { 'content-type': formType }), ...headers },
      ...(form && { body: Buffer.from(form.toString()) }),
    })
    return { status, text: (await readAll(body, responseBytesMax)).toString() }
  } finally {
    timer.cancel()
  }
}

const formType = 'application/x-www-form-urlencoded'

/** By OpenID Connect Discovery 1.0. */
async function findTokenEndpoint(options: OidcOptions, tls: Tls, issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { status, text } = await ask(options, { tls, url })
  if (status !== 200) {
    const excerpt = text.length > 80 ? `${text.slice(0, 80)}...` : text
    throw new Error(`oidc: failed to query metadata endpoint ${status}: ${JSON.stringify(excerpt)}`)
  }
  const endpoint = readObject(text, 'oidc: failed to decode provider discovery object')['token_endpoint']
  if (typeof endpoint === 'string' && URL.canParse(endpoint)) return endpoint
  throw new Error("oidc: discovery object doesn't contain a token_endpoint")
}

interface TokenRequest {
  readonly tls: Tls
  readonly endpoint: string
  readonly config: AuthProviderConfig
  readonly refreshToken: string
}

/** The client is authenticated by a header or, for issuers that refuse this, by the form (RFC 6749, 2.3.1). */
async function requestToken(
  options: OidcOptions,
  { tls, endpoint, config, refreshToken }: TokenRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const { 'client-id': id = '', 'client-secret': secret = '' } = config
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')
  const headers = { authorization: `Basic ${basic}` }
  const identity = { client_id: id, ...(secret !== '' && { client_secret: secret }) }
  let answer = await ask(options, { tls, url: endpoint, headers, form: new URLSearchParams(grant) })
  if (!isSuccess(answer))
    answer = await ask(options, { tls, url: endpoint, form: new URLSearchParams({ ...grant, ...identity }) })
  if (!isSuccess(answer)) throw new Error(`failed to refresh token: oauth2: ${refusalText(answer)}`)
  return readObject(answer.text, 'failed to refresh token: oauth2: cannot parse json')
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300
}

function refusalText({ status, text }: Answer): string {
  try {
    const { error, error_description: description } = readObject(text, '')
    if (typeof error === 'string')
      return [error, description]
        .filter(each => typeof each === 'string')
        .map(each => `"${each}"`)
        .join(' ')
  } catch {
    // Not an error response of RFC 6749.
  }
  return `cannot fetch token: ${status}\nResponse: ${text}`
}

function readObject(text: string, problem: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`${problem}: ${messageOf(error)}`, { cause: error })
  }
  if (typeof value !== 'object' || value === null) throw new Error(`${problem}: expected an object`)
  return { ...value }
}

async function persist({ platform, settings }: OidcOptions, config: AuthProviderConfig): Promise<void> {
  const { file, userName, name } = settings
  if (file === undefined) return
  const { changeKubeconfig, loadKubeconfig } = await import('./kubeconfig.ts')
  const sources = { explicitPath: file, environment: {}, workingFolder: '/' }
  try {
    const { users } = await loadKubeconfig(platform, sources)
    const value = { ...users.get(userName)?.value, 'auth-provider': { name, config } }
    await changeKubeconfig(platform, sources, [{ section: 'users', name: userName, value }])
  } catch (error) {
    throw new Error(`could not persist new tokens: ${messageOf(error)}`, { cause: error })
  }
}
