/**
 * Authentication: authenticators run in order and the first success wins. If none succeeds, invalid
 * credentials reject the request; without credentials the request is anonymous, if that is enabled.
 * Credentials are removed from the request before it is passed on. Authorization is not decided here.
 */
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { Anonymous, type AnonymousOptions } from './authn/anonymous.ts'
import {
  firstSuccess,
  forAudiences,
  isAuthenticated,
  withAuthenticatedGroup,
  type Awaitable,
  type AuthenticationResult,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from './authn/authenticator.ts'
import { BearerToken, BearerTokens, protocolHeader, tokenProtocolPrefix } from './authn/bearer-token.ts'
import { BootstrapTokens } from './authn/bootstrap-tokens.ts'
import { ClientCertificates, type ClientCertificatesOptions } from './authn/client-certificates.ts'
import { ClusterObjects } from './authn/cluster-objects.ts'
import { FrontProxy, type FrontProxyOptions, frontProxyHeaders } from './authn/front-proxy.ts'
import { OidcAuthenticator, type OidcConfiguration } from './authn/oidc-authenticator.ts'
import { LegacyTokenTracking } from './authn/legacy-token-tracking.ts'
import { ServiceAccountIssuer, type ServiceAccountIssuerOptions } from './authn/service-account-issuer.ts'
import { ServiceAccountTokens } from './authn/service-account-tokens.ts'
import { BasicAuth, StaticTokens } from './authn/static-credentials.ts'
import { WebhookTokenAuthenticator, type TokenWebhookSettings } from './authn/webhook-token-authenticator.ts'
import type { Registry } from './registry/registry.ts'
import type { ApiRequest } from './request.ts'
import { withHeaders, withoutHeaders } from './authn/request-headers.ts'

export { readAuthenticationConfiguration } from './authn/authentication-configuration.ts'
export { oidcConfigurationFromFlags } from './authn/oidc-flags.ts'

/** Enabled authenticators. The default is client certificates and anonymous requests. */
export interface AuthenticationSettings {
  readonly certificates?: ClientCertificatesOptions
  readonly frontProxy?: FrontProxyOptions
  /** Content of the static token file. */
  readonly tokenFile?: string
  /** Content of the basic-auth password file, which Kubernetes removed in v1.19. */
  readonly passwordFile?: string
  readonly bootstrapTokens?: boolean
  readonly serviceAccounts?: ServiceAccountSettings
  /** OIDC token issuers. They and the webhook require `connectHttp`. */
  readonly issuers?: readonly OidcConfiguration[]
  readonly webhook?: TokenWebhookSettings
  readonly connectHttp?: HttpConnect
  /** Enabled for all paths when absent. */
  readonly anonymous?: AnonymousOptions
}

export interface ServiceAccountSettings extends ServiceAccountIssuerOptions {
  /** Previous issuer URLs; service account tokens with them are still accepted. */
  readonly acceptedIssuers?: readonly string[]
}

export interface AuthenticationOptions extends AuthenticationSettings {
  readonly platform: Platform
  readonly registry: Registry
}

/** The interface the request pipeline needs. */
export interface RequestAuthentication extends RequestAuthenticator {
  withoutCredentials(request: ApiRequest): ApiRequest
}

export class Authentication implements RequestAuthentication {
  /** Issuer of service account tokens; undefined if not configured. */
  readonly issuer: ServiceAccountIssuer | undefined
  /** Audiences that identify this server in tokens. */
  readonly audiences: readonly string[]
  readonly #platform: Platform
  readonly #authenticators: readonly RequestAuthenticator[]
  readonly #tokens: BearerTokens
  readonly #anonymous: Anonymous
  readonly #credentials: CredentialHeaders
  readonly #createOidc: (issuers: readonly OidcConfiguration[]) => readonly OidcAuthenticator[]
  #oidc: readonly OidcAuthenticator[] = []

  /** Throws if a key, certificate or file is invalid. */
  constructor(options: AuthenticationOptions) {
    const {
      platform,
      certificates = {},
      frontProxy,
      passwordFile,
      serviceAccounts,
      anonymous = { enabled: true },
    } = options
    this.#platform = platform
    const { access } = options.registry.metrics ?? {}
    const recordExpiry = (expiresMs: number): void => {
      access?.certificateExpiration.observe((expiresMs - platform.clock.now()) / 1_000)
    }
    this.issuer = serviceAccounts && new ServiceAccountIssuer(serviceAccounts)
    this.audiences = this.issuer?.audiences ?? defaultAudiences
    const { clock, log } = platform
    const { connectHttp } = options
    this.#createOidc = issuers =>
      connectHttp === undefined
        ? []
        : issuers.map(configuration => new OidcAuthenticator({ clock, log, connectHttp, configuration }))
    this.replaceIssuers(options.issuers ?? [])
    this.#tokens = new BearerTokens({
      authenticators: [...this.#tokenAuthenticators(options)],
      audiences: this.audiences,
    })
    this.#authenticators = [
      ownComponents,
      ...(frontProxy ? [new FrontProxy(frontProxy)] : []),
      new ClientCertificates({ ...certificates, ...(access && { onUse: recordExpiry }) }),
      ...(passwordFile === undefined ? [] : [new BasicAuth(passwordFile)]),
      this.#tokens,
    ]
    this.#anonymous = new Anonymous(anonymous)
    this.#credentials = new CredentialHeaders(frontProxy)
  }

  authenticate(request: ApiRequest): Awaitable<AuthenticationResult> {
    const result = firstSuccess(this.#authenticators, each => each.authenticate(request))
    return result instanceof Promise
      ? result.then(settled => this.#conclude(request, settled))
      : this.#conclude(request, result)
  }

  /** Authenticates a token for these audiences; the result is never undefined. */
  reviewToken(text: string, audiences: readonly string[]): Awaitable<NonNullable<AuthenticationResult>> {
    return this.#tokens.authenticateToken(new BearerToken(text), audiences)
  }

  /** Replaces the OIDC token issuers. */
  replaceIssuers(issuers: readonly OidcConfiguration[]): void {
    this.#oidc = this.#createOidc(issuers)
  }

  withoutCredentials(request: ApiRequest): ApiRequest {
    return this.#credentials.removeFrom(request)
  }

  #conclude(request: ApiRequest, result: AuthenticationResult): AuthenticationResult {
    if (result === undefined) return this.#anonymous.authenticate(request)
    if (isAuthenticated(result)) return withAuthenticatedGroup(result)
    const {
      method,
      path,
      peer: { address },
    } = request
    const fields = { method, path, address, why: result.failure }
    this.#platform.log.info('Unable to authenticate the request', fields)
    return result
  }

  /** Authenticators that work locally come before those that call other servers. */
  *#tokenAuthenticators(options: AuthenticationOptions): Generator<TokenAuthenticator, void, undefined> {
    const {
      platform,
      registry,
      tokenFile,
      bootstrapTokens = false,
      serviceAccounts,
      webhook,
      connectHttp,
    } = options
    const { clock } = platform
    const { audiences, issuer } = this
    const objects = new ClusterObjects(registry)
    if (tokenFile !== undefined) yield forAudiences(audiences, new StaticTokens(tokenFile))
    if (issuer) {
      const legacyUse = new LegacyTokenTracking(registry)
      yield new ServiceAccountTokens({
        clock,
        objects,
        audiences,
        issuers: [issuer.url, ...(serviceAccounts?.acceptedIssuers ?? [])],
        keys: issuer.keys,
        onLegacyUse: secret => legacyUse.recordUse(secret),
        metrics: registry.metrics?.access.serviceAccounts,
      })
    }
    if (bootstrapTokens) yield forAudiences(audiences, new BootstrapTokens({ clock, objects }))
    if (connectHttp === undefined) return
    const oidc: TokenAuthenticator = {
      authenticate: token => firstSuccess(this.#oidc, each => each.authenticate(token)),
    }
    yield forAudiences(audiences, oidc)
    if (webhook)
      yield new WebhookTokenAuthenticator({
        ...webhook,
        platform,
        connectHttp,
        audiences,
        metrics: registry.metrics?.access,
      })
  }
}

const defaultAudiences = ['https://kubernetes.default.svc']

/** In-process components have a fixed identity. */
const ownComponents: RequestAuthenticator = {
  authenticate: ({ peer: { user } }) => user && { user },
}

/**
 * For a server without access to cluster objects: in-process components, client certificates and anonymous
 * requests.
 */
export function authenticationByCertificate(
  certificates: ClientCertificatesOptions = {},
): RequestAuthentication {
  const tokens = new BearerTokens({ authenticators: [], audiences: defaultAudiences })
  const chain = [ownComponents, new ClientCertificates(certificates), tokens]
  const anonymous = new Anonymous({ enabled: true })
  const credentials = new CredentialHeaders()
  return {
    authenticate: request => {
      return firstSuccess(chain, each => each.authenticate(request)) ?? anonymous.authenticate(request)
    },
    withoutCredentials: request => credentials.removeFrom(request),
  }
}

/**
 * Headers that carry credentials, or a proxy's claims about the user. They must not be forwarded to kubelets or
 * other servers.
 */
class CredentialHeaders {
  readonly #names: ReadonlySet<string>
  readonly #prefixes: readonly string[]

  constructor(frontProxy?: FrontProxyOptions) {
    // Includes the default front-proxy headers even if others are configured, because an upstream server may
    // trust them.
    const known = [frontProxyHeaders(), frontProxyHeaders(frontProxy)]
    const names = known.flatMap(({ username, uid, groups }) => [...username, ...uid, ...groups])
    this.#names = new Set(['authorization', ...names])
    this.#prefixes = [...new Set(known.flatMap(({ extra }) => extra))]
  }

  /** Returns the same request if it has none of these headers. */
  removeFrom(request: ApiRequest): ApiRequest {
    const protocols = request.headers[protocolHeader]
    const plain = withoutHeaders(request, this.#isCredential)
    if (protocols === undefined || !protocols.includes(tokenProtocolPrefix)) return plain
    const kept = protocols
      .split(',')
      .map(each => each.trim())
      .filter(each => !each.startsWith(tokenProtocolPrefix))
    return withHeaders(plain, { ...plain.headers, [protocolHeader]: kept.join(', ') })
  }

  readonly #isCredential = (name: string): boolean => {
    return this.#names.has(name) || this.#prefixes.some(prefix => name.startsWith(prefix))
  }
}
