import type { Pod } from '#/api/generated/core/v1.ts'
import { isControlledBy, type KubernetesObject } from '#/api/metadata.ts'
import type { ListOptions } from '#/client/client.ts'
import type { DescribeContext } from '../describer.ts'
import { pods } from '../related-resources.ts'

export async function listPods(
  { client, chunkSize }: Pick<DescribeContext, 'client' | 'chunkSize'>,
  options: ListOptions,
): Promise<readonly Pod[]> {
  const list = await client.listAll(pods, { ...options, ...(chunkSize > 0 && { limit: chunkSize }) })
  return list.items
}

/** `1 Running / 0 Waiting / 0 Succeeded / 0 Failed`: the pods that the object controls. */
export async function podsStatus(
  owner: KubernetesObject,
  labelSelector: string,
  context: DescribeContext,
): Promise<string> {
  const { namespace } = owner.metadata
  const found = await listPods(context, { namespace, labelSelector })
  const phases = found.filter(pod => isControlledBy(pod, owner)).map(({ status }) => status?.phase)
  const count = (wanted: string): number => phases.filter(phase => phase === wanted).length
  return [
    `${count('Running')} Running`,
    `${count('Pending')} Waiting`,
    `${count('Succeeded')} Succeeded`,
    `${count('Failed')} Failed`,
  ].join(' / ')
}
