import type { Pod, PodList } from '#/api/generated/core/v1.ts'
import { compileLabelSelector, selectorFromLabels, type LabelSelector } from '#/api/selectors/selector.ts'
import type { Labels } from '#/api/labels.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import { metadataText, type Info } from '../resource/info.ts'

export const pods = { group: '', version: 'v1', plural: 'pods', scope: 'Namespaced' } as const

export interface PodsOfOptions {
  /** How long to wait for the first pod. */
  readonly timeoutMs: number
  readonly compare: (a: Pod, b: Pod) => number
  /** What cannot be done if the object has no pods: `cannot attach to`. */
  readonly refusal: string
}

/**
 * The pods of a workload or a service, best first; never empty: waits until there is one. A pod is its own pod.
 */
export async function podsOf(
  factory: Factory,
  info: Info,
  options: PodsOfOptions,
): Promise<readonly [Pod, ...Pod[]]> {
  const object = info.object!
  if (isPod(info)) return [podIn(object)]
  const { timeoutMs, compare, refusal } = options
  const selector = selectorOf(info, refusal)
  const namespace = metadataText(object, 'namespace') || info.namespace
  const location = { mapping: pods, namespace }
  const resources = await factory.resources()
  const list = (await resources.get(location, { labelSelector: selector })) as unknown as PodList
  const [first, ...rest] = list.items.toSorted(compare)
  if (first !== undefined) return [first, ...rest]
  const { resourceVersion } = list.metadata ?? {}
  using timeout = timeoutOf(factory, timeoutMs)
  const { signal } = timeout
  try {
    for await (const event of resources.watch(location, {
      labelSelector: selector,
      resourceVersion,
      signal,
    })) {
      if (event.type === 'ADDED' || event.type === 'MODIFIED') return [podIn(event.object)]
    }
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Error('timed out waiting for the condition', { cause: error })
  }
  throw new Error('watch closed before UntilWithoutRetry timeout')
}

function isPod({ mapping }: Info): boolean {
  return mapping.kind === 'Pod' && mapping.group === ''
}

/** A pod as the server has sent it. */
export function podIn(object: JsonObject): Pod {
  return object as unknown as Pod
}

function timeoutOf({ machine }: Factory, timeoutMs: number): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const timer = machine.platform.clock.setTimer(timeoutMs, () => controller.abort(new Error('timed out')))
  return { signal: controller.signal, [Symbol.dispose]: () => timer.cancel() }
}

/** The selector of the object's pods. */
function selectorOf({ mapping, object, name }: Info, refusal: string): string {
  const spec = isObject(object!['spec']) ? object!['spec'] : {}
  const type = `*${mapping.version}.${mapping.kind}`
  switch (`${mapping.kind}.${mapping.group}`) {
    case 'ReplicaSet.apps':
    case 'StatefulSet.apps':
    case 'DaemonSet.apps':
    case 'Deployment.apps':
    case 'Job.batch':
      try {
        return compileLabelSelector(spec['selector'] as LabelSelector | undefined).toString()
      } catch (error) {
        throw new Error(`${refusal} ${type}: invalid label selector: ${messageOf(error)}`, { cause: error })
      }
    case 'ReplicationController.':
      return selectorFromLabels(spec['selector'] as Labels | undefined).toString()
    case 'Service.': {
      const labels = spec['selector'] as Labels | undefined
      if (labels === undefined || Object.keys(labels).length === 0) {
        throw new Error(
          `${refusal} ${type}: invalid service '${name}': Service is defined without a selector`,
        )
      }
      return selectorFromLabels(labels).toString()
    }
    default:
      throw new Error(`${refusal} ${type}: selector for ${type} not implemented`)
  }
}
