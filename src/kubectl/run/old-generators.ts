import type { JsonObject } from '#/api/text/json-object.ts'
import { generatedObject, type GeneratedResource } from '../create/generated-object.ts'
import { parseAnnotations, planPod, planPodSpec, pods, runLabels, type RunRequest } from './plan-pod.ts'

export interface GeneratedWorkload {
  readonly resource: GeneratedResource
  readonly object: JsonObject
  /** Printed as a warning. */
  readonly deprecation?: string
}

type Plan = (request: RunRequest) => Omit<GeneratedWorkload, 'deprecation'>

const generators = new Map<string, Plan>([
  ['run/v1', planReplicationController],
  ['run-pod/v1', planRunPod],
  ['deployment/v1beta1', planDeployment],
  ['deployment/apps.v1beta1', planDeployment],
  ['deployment/apps.v1', planDeployment],
  ['job/v1', planJob],
  ['cronjob/v1beta1', planCronJob],
  ['cronjob/v2alpha1', planCronJob],
])

/**
 * What kubectl generated before 1.18, as `--generator` or else `--schedule` and `--restart` say: a Deployment, a Job, a
 * CronJob or a Pod. All are in the versions that servers have today. Throws Error for an unknown generator.
 */
export function planOldWorkload(request: RunRequest): GeneratedWorkload {
  const name = request.flags.generator || defaultGenerator(request)
  const plan = generators.get(name)
  if (plan === undefined) throw new Error(`generator "${name}" not found`)
  if (name === 'run-pod/v1') return plan(request)
  const deprecation =
    `kubectl run --generator=${name} is DEPRECATED and will be removed in a future version. ` +
    'Use kubectl run --generator=run-pod/v1 or kubectl create instead.'
  return { ...plan(request), deprecation }
}

function defaultGenerator({ flags: { schedule, restart } }: RunRequest): string {
  if (schedule) return 'cronjob/v1beta1'
  const byPolicy: Readonly<Record<string, string>> = { OnFailure: 'job/v1', Never: 'run-pod/v1' }
  return byPolicy[restart ?? ''] ?? 'deployment/apps.v1'
}

function planRunPod(request: RunRequest) {
  return { resource: pods, object: planPod(request) }
}

function metadataOf(request: RunRequest): JsonObject {
  return {
    name: request.name,
    labels: runLabels(request),
    annotations: parseAnnotations(request.flags.annotations),
  }
}

function podTemplate(request: RunRequest, restartPolicy: string): JsonObject {
  const annotations = parseAnnotations(request.flags.annotations)
  const hasAnnotations = Object.keys(annotations).length > 0
  return {
    metadata: { labels: runLabels(request), ...(hasAnnotations && { annotations }) },
    spec: planPodSpec(request, restartPolicy),
  }
}

function planDeployment(request: RunRequest) {
  const resource: GeneratedResource = {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    scope: 'Namespaced',
  }
  const spec = {
    replicas: request.flags.replicas ?? 1,
    selector: { matchLabels: runLabels(request) },
    template: podTemplate(request, 'Always'),
    strategy: {},
  }
  return { resource, object: generatedObject(resource, { metadata: metadataOf(request), spec, status: {} }) }
}

function planReplicationController(request: RunRequest) {
  const resource: GeneratedResource = {
    group: '',
    version: 'v1',
    kind: 'ReplicationController',
    plural: 'replicationcontrollers',
    scope: 'Namespaced',
  }
  const spec = {
    replicas: request.flags.replicas ?? 1,
    selector: runLabels(request),
    template: podTemplate(request, 'Always'),
  }
  const content = { metadata: metadataOf(request), spec, status: { replicas: 0 } }
  return { resource, object: generatedObject(resource, content) }
}

function planJob(request: RunRequest) {
  const resource: GeneratedResource = {
    group: 'batch',
    version: 'v1',
    kind: 'Job',
    plural: 'jobs',
    scope: 'Namespaced',
  }
  const spec = { template: podTemplate(request, request.flags.restart || 'OnFailure') }
  return { resource, object: generatedObject(resource, { metadata: metadataOf(request), spec, status: {} }) }
}

function planCronJob(request: RunRequest) {
  const { restart = '', schedule = '' } = request.flags
  const resource: GeneratedResource = {
    group: 'batch',
    version: 'v1',
    kind: 'CronJob',
    plural: 'cronjobs',
    scope: 'Namespaced',
  }
  const template = podTemplate(request, restart || 'OnFailure')
  const spec = {
    schedule,
    concurrencyPolicy: 'Allow',
    jobTemplate: { metadata: { labels: runLabels(request) }, spec: { template } },
  }
  return { resource, object: generatedObject(resource, { metadata: metadataOf(request), spec, status: {} }) }
}
