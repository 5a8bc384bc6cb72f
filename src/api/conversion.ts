/**
 * One kind in several versions. Objects are stored in one of them; a client that speaks another gets and
 * sends its own. The functions for each kind are in `kinds/<group>/conversion.ts`; versions that differ in
 * nothing but their name need none.
 */
import { conversions as autoscaling } from './kinds/autoscaling/conversion.ts'
import { conversions as events } from './kinds/events/conversion.ts'
import type { KubernetesObject } from './metadata.ts'
import { apiVersionOf, type GroupVersion } from './resource.ts'

/**
 * From one version to another, by kind: `autoscaling/v1 autoscaling/v2 HorizontalPodAutoscaler`. The input
 * has the right kind.
 */
export type Conversions = Readonly<Record<string, (object: never) => KubernetesObject>>

const conversions: Conversions = { ...autoscaling, ...events }

/** The object in another version of its kind; itself when it is in that version already. */
export function convertObject(object: KubernetesObject, to: GroupVersion): KubernetesObject {
  const apiVersion = apiVersionOf(to)
  if (object.apiVersion === apiVersion) return object
  const key = `${object.apiVersion} ${apiVersion} ${object.kind}`
  const convert = conversions[key] as ((object: KubernetesObject) => KubernetesObject) | undefined
  const { kind, apiVersion: _, ...rest } = convert?.(object) ?? object
  // The order of fields is part of the value: kind and version come first, as everywhere.
  return { ...(kind !== undefined && { kind }), apiVersion, ...rest }
}
