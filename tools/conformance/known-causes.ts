/** Why a failing test fails, where the cause is known. The first that applies to the run and the test is taken. */
import type { Results } from './results.ts'

type Setting = Pick<Results, 'nodes' | 'containerd'>

export interface KnownCause {
  readonly tests: RegExp
  readonly applies: (setting: Setting) => boolean
  readonly cause: string
}

export const knownCauses: readonly KnownCause[] = [
  {
    tests: /\bat least two untainted nodes\b|\bDaemon set .*should rollback without unnecessary restarts\b/,
    applies: ({ nodes }) => nodes === 1,
    cause: 'needs two nodes',
  },
  {
    tests: /\bImageVolume\b/,
    applies: ({ containerd = '' }) => /^v?(1\.|2\.0)/.test(containerd),
    cause: 'the container runtime cannot mount images: containerd can from 2.1 on',
  },
  {
    tests: /\bDNS configMap nameserver\b/,
    applies: () => true,
    cause:
      'changes the ConfigMap of CoreDNS and restarts its pods; the DNS of the cluster is in the process of k8ts up',
  },
  {
    tests: /\bshould check kube-proxy urls\b/,
    applies: () => true,
    cause: 'expects the health of the service proxy on localhost; it is at the address of the node',
  },
  {
    tests: /\bKubeProxy should set TCP CLOSE_WAIT timeout\b/,
    applies: () => true,
    cause: 'the service proxy does not change the conntrack timeouts of the machine',
  },
]
