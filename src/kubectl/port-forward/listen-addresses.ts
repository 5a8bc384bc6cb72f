import { parseIp } from '#/api/net/ip.ts'

export interface ListenAddress {
  readonly host: string
  /** It is enough to listen on one of the addresses of localhost; all others are required. */
  readonly isOptional: boolean
}

/** Sorted, each once. Throws Error. */
export function parseAddresses(given: readonly string[]): readonly ListenAddress[] {
  if (given.length === 0) throw new Error('you must specify at least 1 address')
  const addresses = new Map<string, ListenAddress>()
  for (const text of given) {
    if (text === 'localhost') {
      for (const host of ['127.0.0.1', '::1']) {
        if (!addresses.has(host)) addresses.set(host, { host, isOptional: true })
      }
    } else if (parseIp(text) !== undefined) addresses.set(text, { host: text, isOptional: false })
    else throw new Error(`${text} is not a valid IP`)
  }
  return [...addresses.values()].sort((a, b) => (a.host < b.host ? -1 : 1))
}

/** `127.0.0.1:80`, `[::1]:80`. */
export function formatAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EACCES: 'permission denied',
}

/** As Go reports that an address cannot be listened on, without the network. */
export function describeListenError(
  address: { readonly host: string; readonly port: number },
  error: unknown,
): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string }
  const reason = reasons[code ?? ''] ?? message ?? String(error)
  return `${formatAddress(address)}: bind: ${reason}`
}
