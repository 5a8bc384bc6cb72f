/** Linux namespaces that a pod shares with its node and its containers share with one another. */
import type { Pod } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { NamespaceOptions, RuntimeHandler } from '#/cri/cri.ts'
import type { UserMappings } from '../container-input.ts'

export interface UserNamespaceContext {
  readonly handler?: RuntimeHandler
  readonly users?: UserMappings
}

export function namespacesOf(pod: Pod, context: UserNamespaceContext): NamespaceOptions {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec ?? {}
  const users = usersOf(pod, context)
  return {
    network: hostNetwork ? 'node' : 'pod',
    pid: hostPID ? 'node' : shareProcessNamespace ? 'pod' : 'container',
    ipc: hostIPC ? 'node' : 'pod',
    ...(users && { users }),
  }
}

/** Undefined if the pod uses the node's user namespace. */
function usersOf(pod: Pod, { handler, users }: UserNamespaceContext): UserMappings | undefined {
  if (pod.spec?.hostUsers !== false) return undefined
  if (handler?.supportsUserNamespaces && users !== undefined) return users
  const who = handler?.name ? `RuntimeClass handler ${quote(handler.name)}` : 'runtime'
  throw new Error(`can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`)
}
