/**
 * Resolves the priority of pods from their PriorityClass, and allows at most one global default class.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { PriorityClass } from '#/api/generated/scheduling/v1.ts'
import { priorityClasses } from '#/api/generated/scheduling/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import {
  matchesResource,
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
} from '../admission-chain.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import { getCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { withSpec } from './pod-spec.ts'

export function priority(context: PluginContext): AdmissionPlugin {
  const standard = new CachedDerivation(context.cache, priorityClasses, defaultOf)
  const resolve = (request: AdmissionAttributes, name: string): Priority => {
    if (name === '') return standard.value ? priorityOf(standard.value) : noClass
    const found = getCached(context, priorityClasses, { name })
    if (found === undefined) throw admissionForbidden(request, `no PriorityClass with name ${name} was found`)
    return priorityOf(found)
  }
  return {
    name: 'Priority',
    handles: target =>
      isWrite(target) &&
      (matchesResource(target, 'pods') || matchesResource(target, 'priorityclasses.scheduling.k8s.io')),
    mutate(request) {
      if (request.resource.plural !== 'pods') return request.object
      const pod = request.object as Pod
      if (request.operation === 'UPDATE') return asBefore(pod, request.oldObject as Pod)
      return withPriority(request, pod, resolve(request, pod.spec?.priorityClassName ?? ''))
    },
    validate(request) {
      if (request.resource.plural === 'pods' || (request.object as PriorityClass).globalDefault !== true)
        return
      const name = standard.value?.metadata.name
      if (name === undefined || (request.operation === 'UPDATE' && name === request.name)) return
      throw admissionForbidden(
        request,
        `PriorityClass ${name} is already marked as default. Only one default can exist`,
      )
    },
  }
}

interface Priority {
  readonly className: string
  readonly value: number
  readonly preemptionPolicy: string | undefined
}

const noClass: Priority = { className: '', value: 0, preemptionPolicy: 'PreemptLowerPriority' }

function isWrite({ operation }: AdmissionTarget): boolean {
  return operation === 'CREATE' || operation === 'UPDATE'
}

/** If a race created several default classes, the one with the lowest value is used. */
function defaultOf(classes: readonly Stored<PriorityClass>[]): Stored<PriorityClass> | undefined {
  return classes.filter(each => each.globalDefault).sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0]
}

function priorityOf({ metadata, value = 0, preemptionPolicy }: Stored<PriorityClass>): Priority {
  return { className: metadata.name, value, preemptionPolicy }
}

/** The priority is computed from the class; a client may send it only if it is equal. */
function withPriority(
  request: AdmissionAttributes,
  pod: Pod,
  { className, value, preemptionPolicy }: Priority,
): Pod {
  const { priority: sent, preemptionPolicy: sentPolicy } = pod.spec ?? {}
  if (sent !== undefined && sent !== value) {
    throw admissionForbidden(
      request,
      `the integer value of priority (${sent}) must not be provided in pod spec; ` +
        `priority admission controller computed ${value} from the given PriorityClass name`,
    )
  }
  if (preemptionPolicy !== undefined && sentPolicy !== undefined && sentPolicy !== preemptionPolicy) {
    throw admissionForbidden(
      request,
      `the string value of PreemptionPolicy (${sentPolicy}) must not be provided in pod spec; ` +
        `priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    )
  }
  return withSpec(pod, {
    priority: value,
    ...(className && { priorityClassName: className }),
    ...(preemptionPolicy !== undefined && { preemptionPolicy }),
  })
}

/** Restores fields that old clients drop when they update a pod. */
function asBefore(pod: Pod, oldObject: Pod): Pod {
  const { priority: value, preemptionPolicy } = oldObject.spec ?? {}
  const isValueLost = pod.spec?.priority === undefined && value !== undefined
  const isPolicyLost = pod.spec?.preemptionPolicy === undefined && preemptionPolicy !== undefined
  if (!isValueLost && !isPolicyLost) return pod
  return withSpec(pod, { ...(isValueLost && { priority: value }), ...(isPolicyLost && { preemptionPolicy }) })
}
