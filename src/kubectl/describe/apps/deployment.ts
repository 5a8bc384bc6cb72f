import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { isControlledBy } from '#/api/metadata.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import { replicaSets } from '../related-resources.ts'
import { describeConditions } from '../sections/conditions.ts'
import { byText } from '../sections/containers.ts'
import { describeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels } from '../sections/metadata.ts'
import { describePodTemplate } from '../sections/pod-template.ts'
import { localTime } from '../sections/times.ts'
import { withoutNulls } from '../without-nulls.ts'

export const describeDeployment: Describer<Deployment> = async (deployment, context) => {
  const { writer } = context
  const { metadata, spec, status = {} } = deployment
  const { strategy = {} } = spec ?? {}
  const { rollingUpdate } = strategy
  const counts = [
    `${spec?.replicas ?? 0} desired`,
    `${status.updatedReplicas ?? 0} updated`,
    `${status.replicas ?? 0} total`,
    `${status.availableReplicas ?? 0} available`,
    `${status.unavailableReplicas ?? 0} unavailable`,
  ]
  const selector = compileLabelSelector(spec?.selector).toString()
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['CreationTimestamp', localTime(metadata.creationTimestamp, context)],
  ])
  describeLabels(writer, deployment)
  describeAnnotations(writer, deployment)
  writer.fields(0, [
    ['Selector', selector],
    ['Replicas', counts.join(' | ')],
    ['StrategyType', strategy.type ?? ''],
    ['MinReadySeconds', spec?.minReadySeconds ?? 0],
    [
      'RollingUpdateStrategy',
      rollingUpdate &&
        `${rollingUpdate.maxUnavailable ?? ''} max unavailable, ${rollingUpdate.maxSurge ?? ''} max surge`,
    ],
  ])
  describePodTemplate(spec?.template ?? {}, context)
  describeConditions(writer, status.conditions)
  await describeReplicaSets(deployment, selector, context)
  await describeEvents(deployment, context)
}

/** A failure to list them shows none. */
async function describeReplicaSets(
  deployment: Deployment,
  labelSelector: string,
  { client, chunkSize, writer }: DescribeContext,
): Promise<void> {
  const { namespace } = deployment.metadata
  const options = { namespace, labelSelector, ...(chunkSize > 0 && { limit: chunkSize }) }
  const found = await client.listAll(replicaSets, options).catch(() => ({ items: [] }))
  const owned = byText(
    found.items.filter(replicaSet => isControlledBy(replicaSet, deployment)),
    ({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`,
  )
  if (owned.length === 0) return
  const template = comparable(deployment.spec?.template)
  const current = owned.find(({ spec }) => equalJson(comparable(spec?.template), template))
  writer.fields(0, [
    ['OldReplicaSets', replicaSetsText(owned.filter(replicaSet => replicaSet !== current))],
    ['NewReplicaSet', replicaSetsText(current ? [current] : [])],
  ])
}

/** The template without the label that differs in each ReplicaSet. */
function comparable(template: PodTemplateSpec = {}): PodTemplateSpec {
  const { metadata = {}, ...rest } = withoutNulls(template)
  const { 'pod-template-hash': _hash, ...labels } = metadata.labels ?? {}
  return { ...rest, metadata: { ...metadata, labels } }
}

function replicaSetsText(sets: readonly ReplicaSet[]): string {
  const texts = sets.map(({ metadata, spec, status }) => {
    return `${metadata.name} (${status?.replicas ?? 0}/${spec?.replicas ?? 0} replicas created)`
  })
  return texts.join(', ') || '<none>'
}
