import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Namespace, Pod } from '#/api/generated/core/v1.ts'
import type { NetworkPolicy, NetworkPolicySpec } from '#/api/generated/networking/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { nothingRead, type Snapshot } from '../collect/snapshot.ts'
import { deniesDns, diagnoseIngressPolicies } from './network-policy.ts'

function stored(kind: string, name: string, labels: Readonly<Record<string, string>> = {}): Stored {
  const metadata = { namespace: 'shop', name, labels, uid: name, resourceVersion: '1', creationTimestamp: '' }
  return { kind, metadata }
}

const web = stored('Pod', 'web', { app: 'web' }) as Stored<Pod>

function snapshotOf(spec: NetworkPolicySpec, pods: readonly Stored<Pod>[] = [web]): Snapshot {
  const policy = { ...stored('NetworkPolicy', 'rules'), spec } as Stored<NetworkPolicy>
  const namespaces = [stored('Namespace', 'shop') as Stored<Namespace>]
  return {
    ...nothingRead,
    nowMs: 0,
    target: web,
    namespace: 'shop',
    pods,
    policies: [policy],
    namespaces,
  }
}

interface Case {
  readonly spec: NetworkPolicySpec
  readonly ports?: readonly number[]
  /** Of the summary; absent if the pod can be reached. */
  readonly blocked?: RegExp
}

function check({ spec, ports = [8080], blocked }: Case): void {
  const cause = diagnoseIngressPolicies(snapshotOf(spec), { subject: 'Pod shop/web', pods: [web], ports })
  if (blocked === undefined) assert.equal(cause, undefined)
  else assert.match(cause?.summary ?? 'reachable', blocked)
}

test('policies block ingress if they admit no connection that a pod could make to the port', () => {
  const podSelector = { matchLabels: { app: 'web' } }
  const from = (app: string): NonNullable<NetworkPolicySpec['ingress']>[number] => {
    return { from: [{ podSelector: { matchLabels: { app } } }] }
  }
  check({ spec: { podSelector }, blocked: /admits no ingress traffic at all/ })
  check({ spec: { podSelector: {}, policyTypes: ['Ingress'] }, blocked: /admits no ingress traffic at all/ })
  check({ spec: { podSelector: { matchLabels: { app: 'other' } } } })
  check({ spec: { podSelector, policyTypes: ['Egress'] } })
  check({ spec: { podSelector, ingress: [{}] } })
  check({ spec: { podSelector, ingress: [from('web')] } })
  check({
    spec: { podSelector, ingress: [from('shop')] },
    blocked: /admits only pods with app=shop, and there/,
  })
  check({ spec: { podSelector, ingress: [from('shop'), from('web')] } })
  check({ spec: { podSelector, ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] } })
  check({
    spec: { podSelector, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'a' } } }] }] },
    blocked: /admits only pods in namespaces with team=a, and there are none/,
  })
  const ports = (port: number | string, endPort?: number): NetworkPolicySpec => {
    return { podSelector, ingress: [{ ports: [{ port, ...(endPort !== undefined && { endPort }) }] }] }
  }
  check({ spec: ports(80), blocked: /admits only port 80\/TCP, not port 8080\.$/ })
  check({ spec: ports(8000, 9000) })
  check({ spec: ports('http') })
})

test('policies deny DNS if no egress rule admits port 53', () => {
  const names = (spec: NetworkPolicySpec): number => deniesDns(snapshotOf(spec), web).length
  const policyTypes = ['Egress']
  assert.equal(names({ podSelector: {}, policyTypes }), 1)
  assert.equal(names({ podSelector: {}, policyTypes, egress: [{ ports: [{ port: 443 }] }] }), 1)
  assert.equal(
    names({ podSelector: {}, policyTypes, egress: [{ ports: [{ port: 53, protocol: 'UDP' }] }] }),
    0,
  )
  assert.equal(names({ podSelector: {}, policyTypes, egress: [{}] }), 0)
  assert.equal(names({ podSelector: {} }), 0)
})
