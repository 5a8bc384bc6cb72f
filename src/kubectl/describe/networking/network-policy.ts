import type {
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '#/api/generated/networking/v1.ts'
import { formatLabelSelector } from '#/api/selectors/selector.ts'
import type { Describer } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { describeAnnotations, describeLabels, sortedKeys } from '../sections/metadata.ts'
import { goTime } from '../sections/times.ts'

export const describeNetworkPolicy: Describer<NetworkPolicy> = (policy, context) => {
  const { writer } = context
  const { metadata, spec = {} } = policy
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Created on', goTime(metadata.creationTimestamp, context)],
  ])
  describeLabels(writer, policy)
  describeAnnotations(writer, policy)
  describeSpec(writer, spec)
}

function describeSpec(writer: DescribeWriter, { podSelector = {}, ...spec }: NetworkPolicySpec): void {
  const { policyTypes = [], ingress = [], egress = [] } = spec
  const { matchLabels, matchExpressions = [] } = podSelector
  const selectsAll = sortedKeys(matchLabels).length === 0 && matchExpressions.length === 0
  const selector = selectsAll
    ? '<none> (Allowing the specific traffic to all pods in this namespace)'
    : formatLabelSelector(podSelector)
  writer.write(0, 'Spec:\n')
  writer.write(1, `PodSelector:     ${selector}\n`)
  if (policyTypes.includes('Ingress')) {
    writer.write(1, 'Allowing ingress traffic:\n')
    const rules = ingress.map(({ ports, from }) => ({ ports, peers: from }))
    describeRules(writer, rules, ingressTexts)
  } else {
    writer.write(1, 'Not affecting ingress traffic\n')
  }
  if (policyTypes.includes('Egress')) {
    writer.write(1, 'Allowing egress traffic:\n')
    const rules = egress.map(({ ports, to }) => ({ ports, peers: to }))
    describeRules(writer, rules, egressTexts)
  } else {
    writer.write(1, 'Not affecting egress traffic\n')
  }
  writer.write(1, `Policy Types: ${policyTypes.join(', ') || '<none>'}\n`)
}

interface DirectionTexts {
  readonly isolated: string
  readonly peer: string
  readonly anyPeer: string
}

const ingressTexts: DirectionTexts = {
  isolated: '<none> (Selected pods are isolated for ingress connectivity)',
  peer: 'From:',
  anyPeer: 'From: <any> (traffic not restricted by source)',
}

const egressTexts: DirectionTexts = {
  isolated: '<none> (Selected pods are isolated for egress connectivity)',
  peer: 'To:',
  anyPeer: 'To: <any> (traffic not restricted by destination)',
}

/** A rule of either direction. */
interface Rule {
  readonly ports: readonly NetworkPolicyPort[] | undefined
  readonly peers: readonly NetworkPolicyPeer[] | undefined
}

function describeRules(writer: DescribeWriter, rules: readonly Rule[], texts: DirectionTexts): void {
  if (rules.length === 0) writer.write(2, `${texts.isolated}\n`)
  for (const [index, { ports = [], peers = [] }] of rules.entries()) {
    if (index > 0) writer.write(2, '----------\n')
    if (ports.length === 0) writer.write(2, 'To Port: <any> (traffic allowed to all ports)\n')
    for (const port of ports) writer.write(2, `${portText(port)}\n`)
    if (peers.length === 0) writer.write(2, `${texts.anyPeer}\n`)
    for (const peer of peers) {
      writer.write(2, `${texts.peer}\n`)
      for (const line of peerLines(peer)) writer.write(3, `${line}\n`)
    }
  }
}

function portText({ port, endPort, protocol = 'TCP' }: NetworkPolicyPort): string {
  const first = port ?? '<nil>'
  return endPort === undefined
    ? `To Port: ${first}/${protocol}`
    : `To Port Range: ${first}-${endPort}/${protocol}`
}

function peerLines({ namespaceSelector, podSelector, ipBlock }: NetworkPolicyPeer): string[] {
  if (namespaceSelector || podSelector) {
    return [
      ...(namespaceSelector ? [`NamespaceSelector: ${formatLabelSelector(namespaceSelector)}`] : []),
      ...(podSelector ? [`PodSelector: ${formatLabelSelector(podSelector)}`] : []),
    ]
  }
  if (!ipBlock) return []
  return ['IPBlock:', `  CIDR: ${ipBlock.cidr}`, `  Except: ${(ipBlock.except ?? []).join(', ')}`]
}
