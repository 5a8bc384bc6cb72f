import type { Pod } from '#/api/generated/core/v1.ts'
import { chooseContainer, requireContainer } from '../pods/containers.ts'
import type { SessionTarget } from './open-session.ts'

/** The container in which commands are executed. Throws Error if the pod has ended, or has no such container. */
export function execTarget(
  pod: Pod,
  {
    container: given,
    warn,
  }: { readonly container: string | undefined; readonly warn: (text: string) => void },
): Pick<SessionTarget, 'namespace' | 'pod' | 'container' | 'subresource'> {
  const { phase } = pod.status ?? {}
  if (phase === 'Succeeded' || phase === 'Failed') {
    throw new Error(`cannot exec into a container in a completed pod; current phase is ${phase}`)
  }
  const { container } = given ? requireContainer(pod, given) : chooseContainer(pod, { name: undefined, warn })
  const { name = '', namespace = '' } = pod.metadata
  return { namespace, pod: name, container: container.name, subresource: 'exec' }
}
