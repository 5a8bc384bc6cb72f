import type { ClusterNetwork } from '../cluster-network.ts'

/**
 * What to tell iptables so that packets of pods and nodes are forwarded, as parameters of one call each. `rules` are
 * the lines of `iptables -S`. Docker keeps a chain for others, which it asks before its own; where there is none and
 * the policy is to drop, the chain itself gets the rules.
 */
export function planForwarding(
  rules: readonly string[],
  network: ClusterNetwork,
): readonly (readonly string[])[] {
  const chain = chainFor(rules)
  if (chain === undefined) return []
  const ranges = [network.nodeCidr, ...network.podCidrs].filter(cidr => !cidr.includes(':'))
  const matches = ranges.flatMap(cidr => [
    ['-s', cidr],
    ['-d', cidr],
  ])
  const wanted = matches.map(match => [
    ...match,
    '-m',
    'comment',
    '--comment',
    network.bridge,
    '-j',
    'ACCEPT',
  ])
  const has = new Set(rules.map(withoutQuotes))
  return wanted
    .filter(rule => !has.has(['-A', chain, ...rule].join(' ')))
    .map(rule => ['-I', chain, '1', ...rule])
}

/** Whatever was added for this cluster goes again, wherever it is. */
export function planNoForwarding(
  rules: readonly string[],
  network: ClusterNetwork,
): readonly (readonly string[])[] {
  const mark = ` -m comment --comment ${network.bridge} -j ACCEPT`
  return rules
    .map(withoutQuotes)
    .filter(rule => rule.startsWith('-A ') && rule.endsWith(mark))
    .map(rule => ['-D', ...rule.split(' ').slice(1)])
}

function chainFor(rules: readonly string[]): string | undefined {
  if (rules.includes('-N DOCKER-USER')) return 'DOCKER-USER'
  return rules.includes('-P FORWARD DROP') ? 'FORWARD' : undefined
}

/** Some versions of iptables quote each comment, others those with spaces only. Ours have none. */
function withoutQuotes(rule: string): string {
  return rule.replaceAll('"', '')
}
