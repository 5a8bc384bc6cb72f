/** Creates the proxier of a mode, and removes the rules of modes. */
import { removeNftablesTables } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import { IptablesRules, removeIptablesRules } from './iptables.ts'
import type { Proxier, ProxyMode, ProxyNetwork } from './proxier.ts'
import { FallbackProxier, type FallbackProxierOptions } from './fallback-proxier.ts'
import { UserspaceProxier, type UserspaceOptions } from './userspace.ts'

export type CreateProxier = FallbackProxierOptions & UserspaceOptions

export function createProxier(mode: ProxyMode, options: CreateProxier): Proxier {
  switch (mode) {
    case 'nftables':
      return new FallbackProxier(options)
    case 'iptables':
      return new IptablesRules(options)
    case 'userspace':
      return new UserspaceProxier(options)
  }
}

export interface RemoveOtherRules {
  readonly linux: Pick<Linux, 'run'>
  readonly network: ProxyNetwork
}

/** Removes the rules that another mode has left. */
export async function removeOtherRules(
  { linux, network: { table } }: RemoveOtherRules,
  mode: ProxyMode,
): Promise<void> {
  if (mode === 'nftables') await removeIptablesRules(linux, table)
  else await removeNftablesTables(linux, table)
}

/** Removes the rules of all modes; does nothing if there are none. */
export async function removeServiceRules(linux: Pick<Linux, 'run'>, table: string): Promise<void> {
  await removeIptablesRules(linux, table)
  await removeNftablesTables(linux, table)
}
