import type { Job } from '#/api/generated/batch/v1.ts'
import type { Container, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { withFinalizer, type Stored } from '#/api/metadata.ts'
import { podFromTemplate } from '../pods.ts'
import { matchPodFailurePolicy } from './failure-policy.ts'
import type { PodToCreate } from './plan.ts'
import {
  completionIndexKey,
  failureCountKey,
  failuresBefore,
  ignoredFailureCountKey,
  ignoredFailuresBefore,
  trackingFinalizer,
} from './tracked-pods.ts'

/**
 * A pod of the job. The completion index is exposed as label, annotation, host name and environment variable.
 * https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/
 */
export function podOfJob(job: Stored<Job>, { index, replaces }: PodToCreate): Pod {
  const pod = withFinalizer(podFromTemplate(job.spec?.template ?? {}, job), trackingFinalizer)
  if (index === undefined) return pod
  const name = job.metadata.name
  const { metadata, spec } = pod
  return {
    ...pod,
    metadata: {
      ...metadata,
      generateName: indexedNamePrefix(name, index),
      labels: { ...metadata.labels, [completionIndexKey]: String(index) },
      annotations: {
        ...metadata.annotations,
        [completionIndexKey]: String(index),
        ...(job.spec?.backoffLimitPerIndex !== undefined && failureCounts(job, replaces)),
      },
    },
    ...(spec && { spec: { ...withIndexVariable(spec), hostname: `${name}-${index}` } }),
  }
}

/** Maximum length of a generated name, without the random suffix. */
const namePrefixCharactersMax = 58

/** Truncates the job's name rather than the index. */
function indexedNamePrefix(name: string, index: number): string {
  const ending = `-${index}-`
  return name.slice(0, namePrefixCharactersMax - ending.length) + ending
}

function failureCounts(job: Job, replaces: Stored<Pod> | undefined): Readonly<Record<string, string>> {
  if (replaces === undefined) return { [failureCountKey]: '0' }
  const isIgnored = matchPodFailurePolicy(job.spec?.podFailurePolicy, replaces).action === 'Ignore'
  const failures = failuresBefore(replaces) + (isIgnored ? 0 : 1)
  const ignored = ignoredFailuresBefore(replaces) + (isIgnored ? 1 : 0)
  return {
    [failureCountKey]: String(failures),
    ...(ignored > 0 && { [ignoredFailureCountKey]: String(ignored) }),
  }
}

const indexVariable = 'JOB_COMPLETION_INDEX'

function withIndexVariable(spec: PodSpec): PodSpec {
  return {
    ...spec,
    containers: spec.containers.map(withVariable),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(withVariable) }),
  }
}

function withVariable(container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable)) return container
  const fieldRef = { fieldPath: `metadata.labels['${completionIndexKey}']` }
  return { ...container, env: [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef } }] }
}
