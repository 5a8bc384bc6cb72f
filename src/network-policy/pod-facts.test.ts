import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodSpec, PodStatus } from '#/api/generated/core/v1.ts'
import { podFacts, type PodFacts } from './pod-facts.ts'

interface Case {
  readonly spec?: Partial<PodSpec>
  readonly status?: PodStatus
  readonly addresses?: readonly string[]
  readonly facts: Partial<PodFacts> | undefined
}

function check({ spec, status, addresses, facts }: Case): void {
  const pod: Pod = {
    metadata: { namespace: 'x', name: 'web', labels: { app: 'web' } },
    spec: { nodeName: 'n1', containers: [], ...spec },
    status: { podIPs: [{ ip: '10.244.0.5' }], ...status },
  }
  const actual = podFacts(pod, { nodeName: 'n1', addresses })
  const keys = Object.keys(facts ?? {})
  const part = actual && Object.fromEntries(Object.entries(actual).filter(([key]) => keys.includes(key)))
  assert.deepEqual(part, facts)
}

test('a pod without an address of its own is of no concern', () => {
  check({ status: { podIPs: [] }, facts: undefined })
  check({ spec: { hostNetwork: true }, facts: undefined })
})

test('a pod that has ended gives its address back', () => {
  check({ status: { phase: 'Succeeded' }, facts: undefined })
  check({ status: { phase: 'Failed' }, facts: undefined })
  check({ status: { phase: 'Unknown' }, facts: { addresses: ['10.244.0.5'] } })
})

test('addresses are canonical, those of the kubelet first', () => {
  const podIPs = [{ ip: '10.244.0.5' }, { ip: 'FD00:0::5' }]
  check({ status: { podIPs }, facts: { addresses: ['10.244.0.5', 'fd00::5'] } })
  check({ addresses: ['10.244.0.6'], facts: { addresses: ['10.244.0.6', '10.244.0.5'] } })
  check({ addresses: ['10.244.0.5'], status: { podIPs: [] }, facts: { addresses: ['10.244.0.5'] } })
})

test('only pods of this node are local', () => {
  check({ facts: { isLocal: true, namespace: 'x', labels: { app: 'web' }, key: 'x/web' } })
  check({ spec: { nodeName: 'n2' }, facts: { isLocal: false } })
})

test('named ports are those of containers and sidecars', () => {
  const ports = (name: string) => [{ name, containerPort: 80, protocol: 'UDP' }, { containerPort: 81 }]
  check({
    spec: {
      containers: [{ name: 'c', ports: ports('main') }],
      initContainers: [
        { name: 'i', ports: ports('init') },
        { name: 's', ports: [{ name: 'side', containerPort: 82 }], restartPolicy: 'Always' },
      ],
    },
    facts: {
      namedPorts: [
        { name: 'main', protocol: 'udp', port: 80 },
        { name: 'side', protocol: 'tcp', port: 82 },
      ],
    },
  })
})
