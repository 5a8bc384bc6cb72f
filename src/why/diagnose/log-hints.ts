/** What the last lines of a container's log show about names that cannot be resolved and missing rights. */

/** The messages of resolvers: Go, glibc, musl, BusyBox, Node.js, Python, Java, curl. */
const unresolved: readonly RegExp[] = [
  /lookup (?<name>[\w.-]+)(?: on [^ ]+)?: (?:no such host|server misbehaving|i\/o timeout|.*(?:timeout|refused))/i,
  /getaddrinfo (?:ENOTFOUND|EAI_AGAIN) (?<name>[\w.-]+)/,
  /[Cc]ould not resolve host(?:name)?:? "?(?<name>[\w.-]+)/,
  /bad address '(?<name>[\w.-]+?):?\d*'/,
  /(?:server can't find|\*\* server can't find) (?<name>[\w.-]+?): (?:NXDOMAIN|SERVFAIL)/,
  /could not translate host name "(?<name>[\w.-]+)"/,
  /UnknownHostException: (?<name>[\w.-]+)/,
  /connection timed out; no servers could be reached/,
  /(?:[Nn]ame or service not known|[Tt]emporary failure in name resolution|nodename nor servname)/,
]

const answered = /NXDOMAIN|no such host|ENOTFOUND|[Nn]ame or service not known/

/** Of a log. */
export interface UnresolvedName {
  /** Undefined if the log does not say it. */
  readonly name: string | undefined
  readonly line: string
  /** The DNS server has answered that the name does not exist. */
  readonly isAnswered: boolean
}

/** The last line that tells of a failed resolution. */
export function findUnresolvedName(lines: readonly string[]): UnresolvedName | undefined {
  for (const line of lines.toReversed()) {
    const shortened = line.slice(0, lineLengthMax)
    for (const pattern of unresolved) {
      const match = pattern.exec(shortened)
      if (match) return { name: match.groups?.['name'], line, isAnswered: answered.test(shortened) }
    }
  }
  return undefined
}

export interface DeniedRequest {
  readonly user: string
  readonly verb: string
  /** With its subresource: `pods/log`. */
  readonly resource: string
  readonly group: string
  /** Undefined for a request at the cluster scope. */
  readonly namespace: string | undefined
}

/** The request that a message of the RBAC authorizer tells of. */
export function findDeniedRequest(text: string): DeniedRequest | undefined {
  const { groups } = denied.exec(text.slice(0, messageLengthMax)) ?? {}
  if (groups === undefined) return undefined
  const { user = '', verb = '', resource = '', group = '', namespace } = groups
  return { user, verb, resource, group, namespace }
}

const lineLengthMax = 2_000
const messageLengthMax = 16_384

// Quotes are escaped when a log line is JSON or a quoted string.
const quoteMark = String.raw`\\{0,3}"`
const denied = new RegExp(
  `User ${quoteMark}(?<user>[^"\\\\]+)${quoteMark} cannot (?<verb>\\w+) ` +
    `resource ${quoteMark}(?<resource>[^"\\\\]+)${quoteMark}` +
    `(?: in API group ${quoteMark}(?<group>[^"\\\\]*)${quoteMark})?` +
    `(?: in the namespace ${quoteMark}(?<namespace>[^"\\\\]+)${quoteMark})?`,
)
