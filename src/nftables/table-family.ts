/** The words of the `nft` language that differ between the address families. */
import type { IpFamily } from '#/api/net/ip.ts'

export interface TableFamily {
  readonly name: 'ip' | 'ip6'
  readonly address: 'ipv4_addr' | 'ipv6_addr'
  readonly loopback: string
  readonly isOwn: (addressOrRange: string) => boolean
}

export function tableFamily(family: IpFamily): TableFamily {
  return family === 4
    ? { name: 'ip', address: 'ipv4_addr', loopback: '127.0.0.0/8', isOwn: text => !text.includes(':') }
    : { name: 'ip6', address: 'ipv6_addr', loopback: '::1', isOwn: text => text.includes(':') }
}
