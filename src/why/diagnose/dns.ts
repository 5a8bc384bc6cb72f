import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Cause, Evidence, Remedy } from '../diagnosis.ts'
import { eventWith, type Snapshot } from '../collect/snapshot.ts'
import type { UnresolvedName } from './log-hints.ts'
import { deniesDns, policyEvidence } from './network-policy.ts'
import { kubectl, nameOf, ofEvent, ofObject, remedy, whyCommand } from './phrases.ts'
import { endpointsOf } from './service-endpoints.ts'

interface Resolution {
  readonly pod: Stored<Pod>
  readonly container: string
  readonly unresolved: UnresolvedName
}

interface Obstacle {
  readonly why: string
  readonly evidence: readonly Evidence[]
  readonly remedies: readonly Remedy[]
}

/** Why a pod cannot resolve a name, after its log has shown that it cannot. */
export function diagnoseUnresolvedName(snapshot: Snapshot, resolution: Resolution): Cause {
  const { pod, container, unresolved } = resolution
  const { why, evidence, remedies } = obstacleOf(snapshot, resolution)
  const what = unresolved.name === undefined ? 'names' : quote(unresolved.name)
  return {
    code: 'Dns',
    summary: `${nameOf(pod)} cannot resolve ${what}${why === '' ? '' : `, since ${why}`}.`,
    evidence: [{ source: `log of container ${container}`, text: unresolved.line }, ...evidence],
    remedies,
  }
}

function obstacleOf(snapshot: Snapshot, { pod, unresolved }: Resolution): Obstacle {
  const policy = pod.spec?.dnsPolicy ?? 'ClusterFirst'
  const isOfNode = policy === 'Default' || (policy === 'ClusterFirst' && pod.spec?.hostNetwork === true)
  if (isOfNode && isClusterName(snapshot, unresolved.name)) {
    const { hostNetwork } = pod.spec ?? {}
    const setting = `dnsPolicy ${policy}${hostNetwork ? ' with hostNetwork' : ''}`
    return {
      why: `it uses the DNS servers of its node, which do not know names of the cluster (${setting})`,
      evidence: [ofObject(pod, `spec.dnsPolicy is ${policy}`)],
      remedies: [
        remedy(
          `Set dnsPolicy to ${hostNetwork ? 'ClusterFirstWithHostNet' : 'ClusterFirst'} in the pod template.`,
        ),
      ],
    }
  }
  if (unresolved.isAnswered) return nameObstacle(snapshot, pod, unresolved.name)
  const policies = deniesDns(snapshot, pod)
  if (policies.length > 0) {
    const [first] = policies
    return {
      why: `NetworkPolicy ${policies.map(({ metadata }) => metadata.name).join(', ')} admits no egress to port 53`,
      evidence: policyEvidence(policies),
      remedies: first
        ? [
            remedy(
              'Add an egress rule for UDP and TCP port 53:',
              kubectl(first.metadata.namespace, 'edit', 'networkpolicy', first.metadata.name),
            ),
          ]
        : [],
    }
  }
  return serverObstacle(snapshot) ?? nameObstacle(snapshot, pod, unresolved.name)
}

/** Problems of the DNS servers of the cluster. */
function serverObstacle(snapshot: Snapshot): Obstacle | undefined {
  const { services } = snapshot
  const dns = services?.find(({ metadata }) => {
    return metadata.namespace === 'kube-system' && metadata.labels?.['k8s-app'] === 'kube-dns'
  })
  if (dns === undefined || snapshot.endpointSlices === undefined) return undefined
  const { ready, notReady } = endpointsOf(snapshot, dns)
  if (ready > 0) return undefined
  return {
    why: `the DNS Service ${dns.metadata.namespace ?? ''}/${dns.metadata.name} of the cluster has no ready endpoints`,
    evidence: [ofObject(dns, `0 endpoints are ready, ${notReady} are not`)],
    remedies: [
      remedy('See the DNS servers:', kubectl('kube-system', 'get', 'pods', '-l', 'k8s-app=kube-dns')),
      remedy(
        'See why they are not ready:',
        whyCommand('service', { namespace: 'kube-system', name: dns.metadata.name }),
      ),
    ],
  }
}

function nameObstacle(snapshot: Snapshot, pod: Stored<Pod>, name: string | undefined): Obstacle {
  const event = eventWith(snapshot, pod, ['DNSConfigForming', 'MissingClusterDNS'])
  const evidence = event ? [ofEvent(event, snapshot.nowMs)] : []
  const check = remedy(
    'Try it in the pod:',
    kubectl(
      pod.metadata.namespace,
      'exec',
      pod.metadata.name,
      '--',
      'nslookup',
      name ?? 'kubernetes.default',
    ),
  )
  const [service = '', namespace = pod.metadata.namespace ?? '', ...rest] = (name ?? '').split('.')
  const mayBeService = name !== undefined && (rest.length === 0 || rest[0] === 'svc')
  const isHere = namespace === snapshot.namespace && snapshot.services !== undefined
  const exists = snapshot.services?.some(({ metadata }) => {
    return metadata.namespace === namespace && metadata.name === service
  })
  if (mayBeService && isHere && !exists) {
    return {
      why: `there is no Service ${service} in namespace ${namespace}`,
      evidence,
      remedies: [remedy('See the Services there; correct the name:', kubectl(namespace, 'get', 'services'))],
    }
  }
  if (event?.reason === 'MissingClusterDNS') {
    return { why: 'the kubelet of its node has no clusterDNS setting', evidence, remedies: [check] }
  }
  return { why: '', evidence, remedies: [check] }
}

function isClusterName({ services = [], namespace }: Snapshot, name: string | undefined): boolean {
  if (name === undefined) return false
  const isService = services.some(
    ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
  )
  return isService || !name.includes('.') || /\.svc(?:\.|$)/.test(name)
}
