/**
 * The credentials of a service account for a component that may request tokens for it (TokenRequest), such as the
 * controller manager for its controllers. The service account is created when it is missing.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#controller-roles
 */
import { isApiError } from '#/api/errors.ts'
import type { TokenRequest } from '#/api/generated/authentication/v1.ts'
import { namespaces, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { authorization, type Credentials, type RequestCredentials } from '#/kubeconfig/credentials.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Client } from './client.ts'

export interface ServiceAccountCredentialsOptions {
  /** May create tokens of service accounts. */
  readonly client: Client
  readonly clock: Clock
  readonly namespace: string
  readonly name: string
}

const lifetimeSeconds = 3_600
/** A token is replaced after this part of its lifetime. */
const renewAfter = 0.8
/** After a failure the current token is used for this long before the next attempt. */
const retryMs = 10_000

interface Token {
  readonly credentials: RequestCredentials
  readonly expiresMs: number
  readonly renewMs: number
}

export class ServiceAccountCredentials implements Credentials {
  readonly #options: ServiceAccountCredentialsOptions
  #token: Token | undefined
  #requesting: Promise<Token> | undefined

  constructor(options: ServiceAccountCredentialsOptions) {
    this.#options = options
  }

  async current(): Promise<RequestCredentials> {
    const { clock } = this.#options
    const current = this.#token
    if (current !== undefined && clock.monotonicMs() < current.renewMs) return current.credentials
    this.#requesting ??= this.#request().finally(() => (this.#requesting = undefined))
    try {
      this.#token = await this.#requesting
    } catch (error) {
      if (current === undefined || clock.monotonicMs() >= current.expiresMs) throw error
      this.#token = { ...current, renewMs: clock.monotonicMs() + retryMs }
    }
    return this.#token.credentials
  }

  /** The service account may have been recreated, which invalidates its tokens. */
  onUnauthorized(credentials: RequestCredentials): boolean {
    if (this.#token?.credentials === credentials) this.#token = undefined
    return true
  }

  async #request(): Promise<Token> {
    const { client, clock, namespace, name } = this.#options
    const at = { namespace, name, subresource: 'token' }
    const wanted: TokenRequest = { metadata: {}, spec: { audiences: [], expirationSeconds: lifetimeSeconds } }
    const create = () => client.createSubresource<object>(serviceAccounts, at, wanted)
    const created = await create().catch(async (error: unknown) => {
      if (!isApiError(error, 'NotFound')) throw error
      await this.#createAccount()
      return create()
    })
    const { spec, status } = created as TokenRequest
    const startMs = clock.monotonicMs()
    const lifetimeMs = Number(spec?.expirationSeconds ?? lifetimeSeconds) * 1_000
    return {
      credentials: { headers: authorization(status?.token) },
      expiresMs: startMs + lifetimeMs,
      renewMs: startMs + lifetimeMs * renewAfter,
    }
  }

  /** Most components may create service accounts, but not namespaces. */
  async #createAccount(): Promise<void> {
    const { namespace, name } = this.#options
    const account = { metadata: { namespace, name } }
    const create = () => this.#ensure(serviceAccounts, account)
    await create().catch(async (error: unknown) => {
      if (!isApiError(error, 'NotFound')) throw error
      await this.#ensure(namespaces, { metadata: { name: namespace } })
      await create()
    })
  }

  async #ensure(resource: Resource, object: KubernetesObject): Promise<void> {
    await this.#options.client.create(resource, object).catch((error: unknown) => {
      if (!isApiError(error, 'AlreadyExists')) throw error
    })
  }
}
