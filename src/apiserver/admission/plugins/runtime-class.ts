/**
 * Applies the RuntimeClass of a pod: its overhead, node selector and tolerations.
 * https://kubernetes.io/docs/concepts/containers/runtime-class/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { RuntimeClass } from '#/api/generated/node/v1.ts'
import { runtimeClasses } from '#/api/generated/node/v1-resources.ts'
import { compareQuantities, tryParseQuantity, zeroQuantity } from '#/api/text/quantity.ts'
import { admissionForbidden, type AdmissionPlugin, type AdmissionAttributes } from '../admission-chain.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { podWrites, withSpec } from './pod-spec.ts'
import { mergeTolerations } from './tolerations.ts'

export function runtimeClass(context: PluginContext): AdmissionPlugin {
  const classOf = async (request: AdmissionAttributes, name: string): Promise<RuntimeClass> => {
    const found =
      getCached(context, runtimeClasses, { name }) ??
      (await getCachedOrStored(context, runtimeClasses, { name }))
    if (found === undefined)
      throw admissionForbidden(request, `pod rejected: RuntimeClass "${name}" not found`)
    return found
  }
  return {
    name: 'RuntimeClass',
    handles: podWrites(['CREATE']),
    mutate(request) {
      const name = nameOf(request)
      if (name === undefined) return request.object
      return classOf(request, name).then(found => scheduled(request, withOverhead(request, found), found))
    },
    validate(request) {
      const name = nameOf(request)
      if (name === undefined) return checkOverhead(request, undefined)
      return classOf(request, name).then(found => checkOverhead(request, found))
    },
  }
}

type Amounts = Readonly<Record<string, string>>

function nameOf({ object }: AdmissionAttributes): string | undefined {
  return (object as Pod).spec?.runtimeClassName
}

function withOverhead(request: AdmissionAttributes, { overhead }: RuntimeClass): Pod {
  const pod = request.object as Pod
  if (overhead === undefined) return pod
  const sent = pod.spec?.overhead ?? {}
  const fixed = overhead.podFixed ?? {}
  if (Object.keys(sent).length > 0 && !sameAmounts(sent, fixed)) throw otherOverhead(request)
  return withSpec(pod, { overhead: fixed })
}

function checkOverhead(request: AdmissionAttributes, found: RuntimeClass | undefined): void {
  const { overhead } = (request.object as Pod).spec ?? {}
  if (found?.overhead !== undefined) {
    if (!sameAmounts(overhead ?? {}, found.overhead.podFixed ?? {})) throw otherOverhead(request)
  } else if (overhead !== undefined) {
    throw admissionForbidden(
      request,
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    )
  }
}

function otherOverhead(request: AdmissionAttributes): Error {
  return admissionForbidden(
    request,
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
  )
}

function scheduled(request: AdmissionAttributes, pod: Pod, { scheduling }: RuntimeClass): Pod {
  if (scheduling === undefined) return pod
  const { nodeSelector = {}, tolerations = [] } = scheduling
  const wanted = new Map(Object.entries(pod.spec?.nodeSelector ?? {}))
  for (const [key, value] of Object.entries(nodeSelector)) {
    const sent = wanted.get(key)
    if (sent === undefined || sent === value) continue
    throw admissionForbidden(
      request,
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${sent}`,
    )
  }
  const merged = mergeTolerations(pod.spec?.tolerations ?? [], tolerations)
  return withSpec(pod, {
    nodeSelector: { ...pod.spec?.nodeSelector, ...nodeSelector },
    ...(merged.length > 0 && { tolerations: merged }),
  })
}

function sameAmounts(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && sameAmount(a[name]!, b[name]!))
  )
}

function sameAmount(a: string, b: string): boolean {
  return compareQuantities(tryParseQuantity(a) ?? zeroQuantity, tryParseQuantity(b) ?? zeroQuantity) === 0
}
