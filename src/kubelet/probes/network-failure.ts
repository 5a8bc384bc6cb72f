/** Formats a connection error like Kubernetes: `dial tcp 10.0.0.1:80: connect: connection refused`. */
export function networkFailure(error: unknown, host: string, port: number): string {
  const { code = '', message } = rootOf(error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`
  const reason = dialReasons[code]
  if (reason !== undefined) return `dial tcp ${hostAndPort(host, port)}: connect: ${reason}`
  if (code === 'EPIPE' || message === 'socket hang up' || message === 'the server closed the connection')
    return 'EOF'
  return code === 'ECONNRESET' ? 'read: connection reset by peer' : message
}

export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

const dialReasons: Readonly<Record<string, string | undefined>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
}

interface CodedError {
  readonly code?: string
  readonly message: string
}

/** The innermost cause. */
export function rootOf(error: unknown): CodedError {
  let root = error
  while (root instanceof Error && root.cause instanceof Error) root = root.cause
  if (!(root instanceof Error)) return { message: String(root) }
  return {
    message: root.message,
    ...('code' in root && typeof root.code === 'string' && { code: root.code }),
  }
}
