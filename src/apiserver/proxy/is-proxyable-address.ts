import { parseIp, unmapIp } from '#/api/net/ip.ts'

/**
 * True if the server may connect to the address: a unicast address that is neither loopback nor link-local,
 * where services often trust local clients.
 */
export function isProxyableAddress(text: string): boolean {
  const parsed = parseIp(text)
  if (parsed === undefined) return false
  const { family, value } = unmapIp(parsed)
  if (family === 4) {
    const first = value >> 24n
    const isSpecial = value === 0n || first === 127n || value >> 16n === 0xa9fen
    return !isSpecial && (first < 224n || first >= 240n) && value !== 0xffff_ffffn
  }
  return value > 1n && value >> 120n !== 0xffn && value >> 118n !== 0x3fan
}
