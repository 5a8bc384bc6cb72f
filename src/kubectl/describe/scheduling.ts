import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import type { PriorityClass } from '#/api/generated/scheduling/v1.ts'
import { formatLabelSelector } from '#/api/selectors/selector.ts'
import type { Describer } from './describer.ts'
import type { DescribeWriter } from './describe-writer.ts'
import { describeEvents } from './sections/events.ts'
import { mapText } from './sections/metadata.ts'

export const describePriorityClass: Describer<PriorityClass> = async (priorityClass, context) => {
  context.writer.fields(0, [
    ['Name', priorityClass.metadata.name ?? ''],
    ['Value', priorityClass.value ?? 0],
    ['GlobalDefault', priorityClass.globalDefault ?? false],
    ['PreemptionPolicy', priorityClass.preemptionPolicy ?? ''],
    ['Description', priorityClass.description ?? ''],
    ['Annotations', mapText(priorityClass.metadata.annotations)],
  ])
  await describeEvents(priorityClass, context)
}

export const describePodDisruptionBudget: Describer<PodDisruptionBudget> = async (budget, context) => {
  const { writer } = context
  const { metadata, spec = {} } = budget
  const { minAvailable, maxUnavailable, selector } = spec
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['Min available', minAvailable],
    ['Max unavailable', minAvailable === undefined ? maxUnavailable : undefined],
    ['Selector', selector ? formatLabelSelector(selector) : '<unset>'],
  ])
  describeStatus(writer, budget)
  await describeEvents(budget, context)
}

function describeStatus(writer: DescribeWriter, { status = {} }: PodDisruptionBudget): void {
  writer.write(0, 'Status:\n')
  writer.fields(2, [
    ['Allowed disruptions', status.disruptionsAllowed ?? 0],
    ['Current', status.currentHealthy ?? 0],
    ['Desired', status.desiredHealthy ?? 0],
    ['Total', status.expectedPods ?? 0],
  ])
}
