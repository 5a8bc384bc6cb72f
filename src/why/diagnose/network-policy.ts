import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '#/api/generated/networking/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { compileLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import type { Cause, Evidence } from '../diagnosis.ts'
import type { Snapshot } from '../collect/snapshot.ts'
import { kubectl, ofObject, remedy } from './phrases.ts'

export interface Ingress {
  /** `Service shop/web` or the pod itself. */
  readonly subject: string
  readonly pods: readonly Stored<Pod>[]
  /** Ports of the containers; empty if they are not known. */
  readonly ports: readonly number[]
}

/** Set if policies select all of the pods and admit no connection that exists pods could make to the ports. */
export function diagnoseIngressPolicies(
  snapshot: Snapshot,
  { subject, pods, ports }: Ingress,
): Cause | undefined {
  const [pod] = pods
  const policies = pod === undefined ? [] : policiesFor(snapshot, pod, 'Ingress')
  if (pod === undefined || policies.length === 0) return undefined
  const rules = policies.flatMap(({ spec }) => spec?.ingress ?? [])
  const names = policies.map(({ metadata }) => metadata.name).join(', ')
  const heading = `${subject} cannot be reached, since NetworkPolicy ${names} selects its pods and`
  const forPorts = rules.filter(rule => admitsPort(rule.ports, ports))
  if (rules.length === 0) return blocked(policies, `${heading} admits no ingress traffic at all.`)
  if (forPorts.length === 0) {
    const admitted = rules.flatMap(rule => rule.ports ?? []).map(portText)
    return blocked(
      policies,
      `${heading} admits only port ${admitted.join(', ')}, not port ${ports.join(', ')}.`,
    )
  }
  const peers = forPorts.flatMap(({ from = [] }) => from)
  // A rule without peers admits all.
  if (forPorts.some(({ from = [] }) => from.length === 0)) return undefined
  if (peers.some(peer => mayExist(snapshot, peer))) return undefined
  return blocked(policies, `${heading} admits only ${peers.map(peerText).join(', or ')}, and there are none.`)
}

/** True if policies select the pod and no egress rule admits port 53. */
export function deniesDns(snapshot: Snapshot, pod: Stored<Pod>): readonly Stored<NetworkPolicy>[] {
  const policies = policiesFor(snapshot, pod, 'Egress')
  const rules = policies.flatMap(({ spec }) => spec?.egress ?? [])
  return rules.some(rule => admitsPort(rule.ports, [53])) ? [] : policies
}

/** What policies admit to a pod, for evidence: `NetworkPolicy shop/web`: `admits pods with app=web`. */
export function policyEvidence(policies: readonly Stored<NetworkPolicy>[]): readonly Evidence[] {
  return policies.map(policy => {
    const { podSelector, ingress = [], egress = [], policyTypes = ['Ingress'] } = policy.spec ?? {}
    const from = ingress.map(rule => ruleText(rule.from, rule.ports))
    const to = egress.map(rule => ruleText(rule.to, rule.ports))
    const parts = [
      `selects ${selectorText(podSelector) || 'all pods'}`,
      ...(policyTypes.includes('Ingress') ? [`ingress from ${from.join('; ') || 'nowhere'}`] : []),
      ...(policyTypes.includes('Egress') ? [`egress to ${to.join('; ') || 'nowhere'}`] : []),
    ]
    return ofObject(policy, parts.join(', '))
  })
}

export function policiesFor(
  { policies = [] }: Snapshot,
  pod: Stored<Pod>,
  type: 'Ingress' | 'Egress',
): readonly Stored<NetworkPolicy>[] {
  // The pod network of the node's own namespace is not subject to policies.
  if (pod.spec?.hostNetwork) return []
  return policies.filter(({ spec, metadata }) => {
    const types = spec?.policyTypes ?? ['Ingress', ...(spec?.egress ? ['Egress'] : [])]
    const isSelected = compileLabelSelector(spec?.podSelector ?? {}).matches(pod.metadata.labels)
    return metadata.namespace === pod.metadata.namespace && types.includes(type) && isSelected
  })
}

function blocked(policies: readonly Stored<NetworkPolicy>[], summary: string): Cause {
  const [first] = policies
  return {
    code: 'NetworkPolicy',
    summary,
    evidence: policyEvidence(policies),
    remedies: first
      ? [
          remedy(
            'Add an ingress rule for the clients and the port:',
            kubectl(first.metadata.namespace, 'edit', 'networkpolicy', first.metadata.name),
          ),
        ]
      : [],
  }
}

function admitsPort(admitted: readonly NetworkPolicyPort[] | undefined, ports: readonly number[]): boolean {
  if (admitted === undefined || admitted.length === 0 || ports.length === 0) return true
  return admitted.some(({ port, endPort }) => {
    // A named port is one of the container, whose number is not known here.
    if (port === undefined || typeof port === 'string') return true
    return ports.some(each => each >= port && each <= (endPort ?? port))
  })
}

/** False only if all pods that the peer could be are known, and none of them is. */
function mayExist({ pods, namespace, namespaces }: Snapshot, peer: NetworkPolicyPeer): boolean {
  const { ipBlock, namespaceSelector, podSelector } = peer
  if (ipBlock || pods === undefined) return true
  if (namespaceSelector) {
    if (namespaces === undefined) return true
    const selector = compileLabelSelector(namespaceSelector)
    const selected = namespaces.filter(({ metadata }) => selector.matches(metadata.labels))
    if (selected.some(({ metadata }) => metadata.name !== namespace)) return true
    if (selected.length === 0) return false
  }
  const selector = compileLabelSelector(podSelector ?? {})
  return pods.some(({ metadata }) => selector.matches(metadata.labels))
}

function ruleText(
  peers: readonly NetworkPolicyPeer[] | undefined,
  ports: readonly NetworkPolicyPort[] | undefined,
): string {
  const peerTexts = peers === undefined || peers.length === 0 ? 'everywhere' : peers.map(peerText).join(', ')
  return ports === undefined || ports.length === 0
    ? peerTexts
    : `${peerTexts} on port ${ports.map(portText).join(', ')}`
}

function peerText({ ipBlock, namespaceSelector, podSelector }: NetworkPolicyPeer): string {
  if (ipBlock) return `addresses in ${ipBlock.cidr}`
  const pods = podSelector && selectorText(podSelector)
  const podText = pods ? `pods with ${pods}` : 'pods'
  if (!namespaceSelector) return podText
  const labels = selectorText(namespaceSelector)
  return `${podText} in namespaces${labels ? ` with ${labels}` : ''}`
}

function portText({ port, endPort, protocol = 'TCP' }: NetworkPolicyPort): string {
  if (port === undefined) return `any/${protocol}`
  return `${port}${endPort === undefined ? '' : `-${endPort}`}/${protocol}`
}

function selectorText(selector: LabelSelector | undefined): string {
  return selector === undefined ? '' : compileLabelSelector(selector).toString()
}
