/** Pod IPs for the status: one per IP family, the node's primary family first. */
import { parseIp } from '#/api/net/ip.ts'

export function sortAddresses(
  addresses: readonly string[],
  nodeAddresses: readonly string[],
): readonly string[] {
  const first = familyOf(nodeAddresses[0]) ?? 4
  const preferred = addresses.find(address => familyOf(address) === first)
  const other = addresses.find(address => familyOf(address) === (first === 4 ? 6 : 4))
  return [preferred, other].filter(address => address !== undefined)
}

function familyOf(address: string | undefined): 4 | 6 | undefined {
  return address === undefined ? undefined : parseIp(address)?.family
}
