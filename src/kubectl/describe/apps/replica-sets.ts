import type { DaemonSet, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { ReplicationController } from '#/api/generated/core/v1.ts'
import { compileLabelSelector, formatLabelSelector, selectorFromLabels } from '#/api/selectors/selector.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Describer } from '../describer.ts'
import { describeConditions } from '../sections/conditions.ts'
import { podsStatus } from '../sections/controlled-pods.ts'
import { describeEvents } from '../sections/events.ts'
import { controlledBy, describeAnnotations, describeLabels, mapText } from '../sections/metadata.ts'
import { describePodTemplate } from '../sections/pod-template.ts'

export const describeReplicationController: Describer<ReplicationController> = async (
  controller,
  context,
) => {
  const { writer } = context
  const { metadata, spec = {}, status } = controller
  const pods = await podsStatus(controller, selectorFromLabels(spec.selector).toString(), context)
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Selector', mapText(spec.selector)],
  ])
  describeLabels(writer, controller)
  describeAnnotations(writer, controller)
  writer.fields(0, [
    ['Replicas', `${status?.replicas ?? 0} current / ${spec.replicas ?? 0} desired`],
    ['Pods Status', pods],
  ])
  describePodTemplate(spec.template, context)
  describeConditions(writer, status?.conditions)
  await describeEvents(controller, context)
}

export const describeReplicaSet: Describer<ReplicaSet> = async (replicaSet, context) => {
  const { writer } = context
  const { metadata, spec, status } = replicaSet
  const selector = compileLabelSelector(spec?.selector)
  const pods = await podsStatus(replicaSet, selector.toString(), context).catch((error: unknown) => {
    return `error in fetching pods: ${messageOf(error)}`
  })
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Selector', formatLabelSelector(spec?.selector)],
  ])
  describeLabels(writer, replicaSet)
  describeAnnotations(writer, replicaSet)
  writer.fields(0, [
    controlledBy(replicaSet),
    ['Replicas', `${status?.replicas ?? 0} current / ${spec?.replicas ?? 0} desired`],
    ['Pods Status', pods],
  ])
  describePodTemplate(spec?.template ?? {}, context)
  describeConditions(writer, status?.conditions)
  await describeEvents(replicaSet, context)
}

export const describeDaemonSet: Describer<DaemonSet> = async (daemonSet, context) => {
  const { writer } = context
  const { metadata, spec, status } = daemonSet
  const selector = compileLabelSelector(spec?.selector).toString()
  const pods = await podsStatus(daemonSet, selector, context)
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Selector', selector],
    ['Node-Selector', mapText(spec?.template.spec?.nodeSelector)],
  ])
  describeLabels(writer, daemonSet)
  describeAnnotations(writer, daemonSet)
  for (const [label, count = 0] of [
    ['Desired Number of Nodes Scheduled', status?.desiredNumberScheduled],
    ['Current Number of Nodes Scheduled', status?.currentNumberScheduled],
    ['Number of Nodes Scheduled with Up-to-date Pods', status?.updatedNumberScheduled],
    ['Number of Nodes Scheduled with Available Pods', status?.numberAvailable],
    ['Number of Nodes Misscheduled', status?.numberMisscheduled],
  ] as const) {
    writer.write(0, `${label}: ${count}\n`)
  }
  writer.fields(0, [['Pods Status', pods]])
  describePodTemplate(spec?.template ?? {}, context)
  await describeEvents(daemonSet, context)
}
