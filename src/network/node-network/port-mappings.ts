/**
 * Ports of the machine that lead to pods of a network: pods that were killed leave theirs. `rules` are the lines of
 * `iptables -t nat -S`; what comes back are lines for `iptables-restore`, which does all of them or none.
 */
export function planPortMappingRemoval(rules: readonly string[], network: string): readonly string[] {
  const mark = String.raw` --comment "dnat name: \"${network}\" id: `
  const own = rules.filter(rule => rule.startsWith('-A CNI-HOSTPORT-DNAT ') && rule.includes(mark))
  const chains = [...new Set(own.flatMap(rule => / -j (CNI-DN-\S+)$/.exec(rule)?.[1] ?? []))]
  return [
    ...own.map(deletionOf),
    ...chains.map(chain => `-F ${chain}`),
    ...chains.map(chain => `-X ${chain}`),
  ]
}

/**
 * The plugin for these ports leaves its own chains behind when the last port is gone. They are everybody's who uses
 * it, so they go only when nobody has a port any more; the plugin makes them anew when it needs them. The chain with
 * the ports is not emptied: where a port comes at this very moment all is left as it is.
 */
export function planPortMappingCleanup(rules: readonly string[]): readonly string[] {
  const chains = rules.filter(rule => rule.startsWith('-N CNI-HOSTPORT-')).map(rule => rule.slice(3))
  const isUsed = rules.some(rule => rule.startsWith(`-A ${ports} `) || rule.startsWith('-N CNI-DN-'))
  if (isUsed) return []
  const jumps = rules.filter(rule => / -j CNI-HOSTPORT-/.test(rule) && !rule.startsWith('-A CNI-'))
  return [
    ...jumps.map(deletionOf),
    ...chains.filter(chain => chain !== ports).map(chain => `-F ${chain}`),
    ...chains.map(chain => `-X ${chain}`),
  ]
}

const ports = 'CNI-HOSTPORT-DNAT'

function deletionOf(rule: string): string {
  return rule.replace(/^-A /, '-D ')
}
