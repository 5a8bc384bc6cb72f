import { posix } from 'node:path'
import { messageOf } from '#/base/message-of.ts'
import { compileRegularExpression, type RegularExpression } from '#/base/regular-expression.ts'
import { ExitError } from '../errors.ts'

export interface RequestFilter {
  readonly acceptPaths: readonly RegularExpression[]
  /** Win over `acceptPaths`. */
  readonly rejectPaths: readonly RegularExpression[]
  readonly acceptHosts: readonly RegularExpression[]
  readonly rejectMethods: readonly RegularExpression[]
}

export const usualPatterns = {
  acceptPaths: '^.*',
  rejectPaths: '^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach',
  acceptHosts: String.raw`^localhost$,^127\.0\.0\.1$,^\[::1\]$`,
  rejectMethods: '^$',
} as const

/** From comma-separated patterns. Throws ExitError. */
export function compileFilter(patterns: Readonly<Record<keyof typeof usualPatterns, string>>): RequestFilter {
  return {
    acceptPaths: compilePatterns(patterns.acceptPaths),
    rejectPaths: compilePatterns(patterns.rejectPaths),
    acceptHosts: compilePatterns(patterns.acceptHosts),
    rejectMethods: compilePatterns(patterns.rejectMethods),
  }
}

function compilePatterns(text: string): readonly RegularExpression[] {
  if (text === '') return []
  try {
    return text.split(',').map(compileRegularExpression)
  } catch (error) {
    throw new ExitError(255, `Error compiling re: ${messageOf(error)}`, { cause: error })
  }
}

export interface FilteredRequest {
  readonly method: string
  /** Decoded, below the API prefix. */
  readonly path: string
  /** Of the header, with its port. */
  readonly host: string
}

export function isAccepted(filter: RequestFilter, { method, path, host }: FilteredRequest): boolean {
  // A path with encoded dots and slashes must not get around the patterns.
  const paths = [path, posix.normalize(path)]
  return (
    !paths.some(each => matchesAny(filter.rejectPaths, each)) &&
    !matchesAny(filter.rejectMethods, method) &&
    paths.every(each => matchesAny(filter.acceptPaths, each)) &&
    matchesAny(filter.acceptHosts, withoutPort(host))
  )
}

function matchesAny(patterns: readonly RegularExpression[], text: string): boolean {
  return patterns.some(pattern => pattern.test(text))
}

/** `localhost:8001` to `localhost`. IPv6 addresses keep their brackets only without a port, as upstream. */
function withoutPort(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*)):\d*$/.exec(host) ?? []
  return bracketed ?? plain ?? host
}
