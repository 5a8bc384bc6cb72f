/**
 * Credentials of a client, resolved for each request, since they may change while the process runs: the
 * kubelet replaces a token file, a certificate is rotated, the result of a plugin expires. Unchanged
 * credentials are cached.
 */
import type { Platform } from '#/platform/platform.ts'

export interface Credentials {
  current(signal: AbortSignal): Promise<RequestCredentials>
  /** Called after a 401. Returns true if the next `current` may return other credentials. */
  onUnauthorized(credentials: RequestCredentials): boolean
}

export interface RequestCredentials {
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly certificate?: ClientCertificate
}

/** Why there are no credentials: the plugin of the user has failed. */
export class CredentialsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CredentialsError'
  }
}

/** PEM encoded. */
export interface ClientCertificate {
  readonly cert: Uint8Array | string
  readonly key: Uint8Array | string
}

/** Inline content, or a file that is read on first use and again when it may have changed. */
export type ContentSource = { readonly data: Uint8Array | string } | { readonly file: string }

export interface StaticCredentials {
  readonly certificate?: { readonly cert: ContentSource; readonly key: ContentSource }
  readonly token?: ContentSource
  readonly basic?: { readonly username: string; readonly password: string }
}

/** Sends no credentials. */
export const anonymous: Credentials = {
  current: async () => ({ headers: {} }),
  onUnauthorized: () => false,
}

/** Static credentials from configuration or files. */
export function staticCredentials(
  platform: Platform,
  { certificate, token, basic }: StaticCredentials,
): Credentials {
  const read = (source: ContentSource | undefined) => source && new FileContent(platform, source)
  const cert = read(certificate?.cert)
  // One file is read once, so that certificate and key belong together while it is replaced.
  const isOneFile = certificate && fileOf(certificate.cert) === fileOf(certificate.key)
  const key = isOneFile && fileOf(certificate.cert) !== undefined ? cert : read(certificate?.key)
  const sources = { cert, key, token: read(token) }
  return {
    current: async () => {
      const cert = await sources.cert?.read()
      const key = sources.key === sources.cert ? cert : await sources.key?.read()
      const bearer = await sources.token?.read()
      return {
        headers: authorization(bearer && Buffer.from(bearer).toString().trim(), basic),
        ...(cert !== undefined && key !== undefined && { certificate: { cert, key } }),
      }
    },
    // Not `some`: every file must be marked for rereading.
    onUnauthorized: () =>
      Object.values(sources)
        .map(source => source?.forget() ?? false)
        .includes(true),
  }
}

function fileOf(source: ContentSource): string | undefined {
  return 'file' in source ? source.file : undefined
}

/** A token takes precedence over basic auth. */
export function authorization(
  token: string | undefined,
  basic?: StaticCredentials['basic'],
): RequestCredentials['headers'] {
  if (token) return { authorization: `Bearer ${token}` }
  if (!basic) return {}
  return { authorization: `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}` }
}

/** The user to impersonate: `kubectl --as`. */
export interface Impersonation {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export function impersonating(credentials: Credentials, impersonation: Impersonation): Credentials {
  const headers = impersonationHeaders(impersonation)
  return {
    current: async signal => {
      const current = await credentials.current(signal)
      return { ...current, headers: { ...current.headers, ...headers } }
    },
    onUnauthorized: current => credentials.onUnauthorized(current),
  }
}

function impersonationHeaders({
  username,
  uid,
  groups = [],
  extra = {},
}: Impersonation): RequestCredentials['headers'] {
  const extras = Object.entries(extra).map(([key, values]) => {
    return [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, values] as const
  })
  return {
    'impersonate-user': username,
    ...(uid !== undefined && { 'impersonate-uid': uid }),
    ...(groups.length > 0 && { 'impersonate-group': groups }),
    ...Object.fromEntries(extras),
  }
}

/** A file is reread after this time: the kubelet replaces a token long before it expires. */
const freshMs = 60_000

/** The content of a source; files are reread periodically. */
class FileContent {
  readonly #platform: Platform
  readonly #source: ContentSource
  #content: Uint8Array | string | undefined
  #readMs = 0

  constructor(platform: Platform, source: ContentSource) {
    this.#platform = platform
    this.#source = source
  }

  /** Throws when the file has never been read successfully; later failures return the last content. */
  async read(): Promise<Uint8Array | string> {
    const source = this.#source
    if ('data' in source) return source.data
    const { clock, files, log } = this.#platform
    if (this.#content !== undefined && clock.monotonicMs() - this.#readMs < freshMs) return this.#content
    try {
      this.#content = await files.read(source.file)
    } catch (cause) {
      if (this.#content === undefined) throw new Error(`cannot read ${source.file}`, { cause })
      log.warn('Failed to reload credentials, using the last ones', { file: source.file, error: cause })
    }
    this.#readMs = clock.monotonicMs()
    return this.#content
  }

  /** Forces the next `read` to read the file. Returns true if the source is a file. */
  forget(): boolean {
    this.#readMs = -Infinity
    return 'file' in this.#source
  }
}
