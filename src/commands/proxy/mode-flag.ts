import { UsageError, type Flag } from '#/base/flags.ts'
import { proxyModes, type ProxyMode } from '#/proxy/proxier.ts'

/** Throws UsageError. */
export function parseProxyMode(given: string): ProxyMode {
  const mode = proxyModes.find(each => each === given)
  if (mode !== undefined) return mode
  const known = `must be ${proxyModes.join(', ')}`
  if (given === 'ipvs')
    throw new UsageError(`ipvs is not supported, upstream deprecates it in favor of nftables: ${known}`)
  throw new UsageError(`${known}, not ${given}`)
}

export const proxyModeFlag: Flag<ProxyMode> = {
  value: proxyModes.join('|'),
  help: 'how packets to services are handled (nftables)',
  read: given => parseProxyMode(given.at(-1) ?? ''),
}
