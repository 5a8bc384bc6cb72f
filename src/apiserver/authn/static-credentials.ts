/** Static users from a token file or a basic-auth password file. The files are read once. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { ApiRequest, UserInfo } from '../request.ts'
import type {
  Authenticated,
  AuthenticationResult,
  RequestAuthenticator,
  TokenAuthenticator,
} from './authenticator.ts'
import type { BearerToken } from './bearer-token.ts'

/** `token,user,uid,"group1,group2"`, the groups optional. */
export class StaticTokens implements TokenAuthenticator {
  /** By token digest, so that the lookup time does not depend on the token's content. */
  readonly #users = new Map<string, Authenticated>()

  /** Throws if the file is invalid. */
  constructor(file: string) {
    for (const { secret, user } of readUsers(file, 'token')) {
      this.#users.set(hash('sha256', secret, 'base64url'), { user })
    }
  }

  authenticate(token: BearerToken): AuthenticationResult {
    return this.#users.get(token.digest)
  }
}

/** `password,user,uid,"group1,group2"`, the groups optional. */
export class BasicAuth implements RequestAuthenticator {
  readonly #users = new Map<string, { readonly password: string; readonly result: Authenticated }>()

  /** Throws if the file is invalid. */
  constructor(file: string) {
    for (const { secret, user } of readUsers(file, 'password')) {
      this.#users.set(user.username, { password: secret, result: { user } })
    }
  }

  authenticate({ headers }: ApiRequest): AuthenticationResult {
    const code = /^\s*basic +([A-Za-z0-9+/_=-]*)\s*$/i.exec(headers['authorization'] ?? '')?.[1]
    if (code === undefined) return undefined
    const text = Buffer.from(code, 'base64').toString()
    const colon = text.indexOf(':')
    const known = colon === -1 ? undefined : this.#users.get(text.slice(0, colon))
    // Constant time: an unknown user name takes as long as a wrong password.
    const isRight = constantTimeEqual(text.slice(colon + 1), known?.password ?? '')
    return known !== undefined && isRight
      ? known.result
      : { failure: 'invalid username/password combination' }
  }
}

/** Constant-time comparison. */
export function constantTimeEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

interface ListedUser {
  readonly secret: string
  readonly user: UserInfo
}

function readUsers(file: string, what: 'token' | 'password'): ListedUser[] {
  return parseCsv(file).flatMap(([secret = '', username, uid, groups], index) => {
    if (username === undefined || uid === undefined) {
      throw new Error(`record ${index + 1} must have at least 3 columns (${what}, user name, user uid)`)
    }
    // An empty secret would admit requests with an empty credential.
    if (secret === '') return []
    return [
      { secret, user: { username, ...(uid !== '' && { uid }), groups: groups ? groups.split(',') : [] } },
    ]
  })
}

/**
 * Parses comma-separated values (RFC 4180): quoted fields may contain commas, line breaks and doubled quotes.
 * Empty lines are skipped. Throws an Error that names the line but never its content.
 */
export function parseCsv(text: string): string[][] {
  const records: string[][] = []
  const form = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  let record: string[] = []
  while (form.lastIndex < text.length || record.length > 0) {
    const at = form.lastIndex
    const match = form.exec(text)
    if (match === null) {
      throw new Error(`line ${text.slice(0, at).split('\n').length}: unexpected quote`)
    }
    const [, quoted, plain = '', end] = match
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    if (record.length > 1 || record[0] !== '' || quoted !== undefined) records.push(record)
    record = []
  }
  return records
}
