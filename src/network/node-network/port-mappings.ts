import type { ClusterNetwork } from '../cluster-network.ts'

/**
 * The plugin for ports of the machine leaves its chains behind when the last port is gone, and pods that were killed
 * leave their ports. Chains that are everybody's go only when nobody has a port any more; the plugin makes them anew
 * when it needs them. `rules` are the lines of `iptables -t nat -S`; what comes back are parameters of one call each.
 */
export function planPortMappingCleanup(
  rules: readonly string[],
  { bridge }: Pick<ClusterNetwork, 'bridge'>,
): readonly (readonly string[])[] {
  const words = rules.map(wordsOf)
  const own = words.filter(([, , ...rest]) => rest.some(word => word.startsWith(`dnat name: "${bridge}" `)))
  const ownChains = [...new Set(own.flatMap(rule => targetOf(rule) ?? []))]
  const isUsed = words.some(rule => {
    const [command, chain = ''] = rule
    return (
      (command === '-A' && chain === 'CNI-HOSTPORT-DNAT' && !own.includes(rule)) ||
      (command === '-N' && chain.startsWith('CNI-DN-') && !ownChains.includes(chain))
    )
  })
  return [...own.map(deletionOf), ...removalOf(ownChains), ...(isUsed ? [] : planSharedCleanup(words))]
}

type Rule = readonly string[]

function planSharedCleanup(words: readonly Rule[]): readonly Rule[] {
  const chains = words
    .filter(([command, chain]) => command === '-N' && chain?.startsWith('CNI-HOSTPORT-'))
    .map(([, chain]) => chain!)
  const jumps = words.filter(rule => {
    const [command, chain] = rule
    return command === '-A' && !chain?.startsWith('CNI-') && targetOf(rule)?.startsWith('CNI-HOSTPORT-')
  })
  return [...jumps.map(deletionOf), ...removalOf(chains)]
}

function deletionOf([, ...rest]: Rule): Rule {
  return ['-D', ...rest]
}

function removalOf(chains: readonly string[]): readonly Rule[] {
  return [...chains.map(chain => ['-F', chain]), ...chains.map(chain => ['-X', chain])]
}

function targetOf(rule: Rule): string | undefined {
  const at = rule.indexOf('-j')
  return at < 0 ? undefined : rule[at + 1]
}

/** Words as a shell would cut them; quotes stand around whole words only. */
function wordsOf(rule: string): Rule {
  const words = rule.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? []
  return words.map(word => (word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word))
}
