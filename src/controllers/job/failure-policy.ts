/**
 * Pod failure policy: the first matching rule determines how a failed pod is handled.
 * https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
 */
import type {
  PodFailurePolicy,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
} from '#/api/generated/batch/v1.ts'
import type { ContainerStatus, Pod, PodCondition } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

export interface PodFailureAction {
  readonly action: 'Count' | 'Ignore' | 'FailIndex' | 'FailJob'
  /** Message of the job's failure, for FailJob. */
  readonly message: string
}

const counted: PodFailureAction = { action: 'Count', message: '' }

export function matchPodFailurePolicy(
  policy: PodFailurePolicy | undefined,
  pod: Stored<Pod>,
): PodFailureAction {
  const { namespace = '', name } = pod.metadata
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const action = actions.find(each => each === rule.action)
    if (action === undefined) continue
    const place = `matching ${action} rule at index ${index}`
    if (rule.onExitCodes) {
      const container = containerWithCode(pod, rule.onExitCodes)
      if (container === undefined) continue
      const code = container.state?.terminated?.exitCode
      const what = `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${code}`
      return { action, message: `${what} ${place}` }
    }
    const condition = conditionLike(pod, rule.onPodConditions ?? [])
    if (condition === undefined) continue
    return { action, message: `Pod ${namespace}/${name} has condition ${condition.type} ${place}` }
  }
  return counted
}

const actions = ['Count', 'Ignore', 'FailIndex', 'FailJob'] as const

/** A container that terminated with a matching exit code; exit code 0 never matches. */
function containerWithCode(
  { status }: Pod,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement,
): ContainerStatus | undefined {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  return statuses.find(({ name, state }) => {
    const code = state?.terminated?.exitCode ?? 0
    if (code === 0 || (containerName !== undefined && containerName !== name)) return false
    return operator === 'In' ? values.includes(code) : operator === 'NotIn' && !values.includes(code)
  })
}

function conditionLike(
  { status }: Pod,
  patterns: readonly PodFailurePolicyOnPodConditionsPattern[],
): PodCondition | undefined {
  return status?.conditions?.find(condition => {
    return patterns.some(({ type, status: wanted = 'True' }) => {
      return type === condition.type && wanted === condition.status
    })
  })
}
