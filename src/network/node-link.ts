/** The network interface of a machine that has the address of its node. */
import type { Linux } from '#/platform/linux.ts'

interface AddressedLink {
  readonly mtu: number
  readonly prefixLength: number
}

/** Rejects when the machine does not have the address. */
export async function findNodeLink(linux: Pick<Linux, 'run'>, address: string): Promise<AddressedLink> {
  const links = JSON.parse(await linux.run(['ip', '-j', 'address', 'show'])) as readonly LinkAddresses[]
  for (const { mtu, addr_info: all } of links) {
    const own = all.find(({ local }) => local === address)
    if (own !== undefined) return { mtu, prefixLength: own.prefixlen }
  }
  throw new Error(`no link of this machine has the address ${address} of the node`)
}

/** Output of `ip -j address show`. */
interface LinkAddresses {
  readonly mtu: number
  readonly addr_info: readonly { readonly local?: string; readonly prefixlen: number }[]
}
