import type { NamespaceMode, SandboxMetadata, SandboxStatus, SandboxSummary } from '../cri.ts'
import { namespaceModes, sandboxStates } from './enumerations.ts'
import type { PodSandbox, PodSandboxStatus } from './sandbox-messages.ts'

/** Conversions from CRI sandbox messages. */
export function sandboxSummaryOf(sandbox: PodSandbox): SandboxSummary {
  return {
    id: sandbox.id,
    metadata: sandbox.metadata ?? noMetadata,
    state: sandboxStates[sandbox.state] ?? 'not-ready',
    createdAt: BigInt(sandbox.createdAt),
    labels: sandbox.labels,
    annotations: sandbox.annotations,
  }
}

export function sandboxStatusOf(status: PodSandboxStatus): SandboxStatus {
  const { ip = '', additionalIps = [] } = status.network ?? {}
  const options = status.linux?.namespaces?.options
  return {
    ...sandboxSummaryOf(status),
    addresses: [ip, ...additionalIps.map(each => each.ip)].filter(address => address !== ''),
    network: modeOf(options?.network ?? 0, options?.targetId ?? ''),
  }
}

function modeOf(number: number, target: string): NamespaceMode {
  const mode = namespaceModes[number] ?? 'pod'
  return mode === 'target' ? { target } : mode
}

const noMetadata: SandboxMetadata = { name: '', namespace: '', uid: '', attempt: 0 }
