/** Pod templates of workload resources. */
import type { PodTemplate, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import type { CronJob } from '#/api/generated/batch/v1.ts'
import type { Deployment } from '#/api/generated/apps/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import type { AdmissionAttributes } from '../../admission-chain.ts'
import { specOf } from '../pod-spec.ts'
import type { PodToCheck } from './check.ts'

type FindTemplate = (object: KubernetesObject) => PodTemplateSpec | undefined

const inSpec: FindTemplate = object => (object as Partial<Deployment>).spec?.template

const templates: ReadonlyMap<string, FindTemplate> = new Map<string, FindTemplate>([
  ['podtemplates', object => (object as PodTemplate).template],
  ['replicationcontrollers', inSpec],
  ['replicasets.apps', inSpec],
  ['deployments.apps', inSpec],
  ['statefulsets.apps', inSpec],
  ['daemonsets.apps', inSpec],
  ['jobs.batch', inSpec],
  ['cronjobs.batch', object => (object as CronJob).spec?.jobTemplate.spec?.template],
])

export function hasTemplate(resource: Resource): boolean {
  return templates.has(qualifiedResourceName(resource))
}

export function templateOf({ resource, object }: AdmissionAttributes): PodToCheck | undefined {
  const template = object && templates.get(qualifiedResourceName(resource))?.(object)
  return template && { metadata: template.metadata ?? {}, spec: specOf(template) }
}
