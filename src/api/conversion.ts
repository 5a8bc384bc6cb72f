/**
 * Conversion between the versions of a kind. Objects are stored in one version and converted to and from the
 * version of the request. The functions for each kind are in `kinds/<group>/conversion.ts`; versions with
 * identical fields need none.
 */
import { conversions } from './kinds/conversions.ts'
import type { KubernetesObject } from './metadata.ts'
import { apiVersionOf, type GroupVersion } from './resource.ts'

/**
 * Conversion functions keyed by source version, target version and kind: `autoscaling/v1 autoscaling/v2
 * HorizontalPodAutoscaler`. The input has the right kind.
 */
export type Conversions = Readonly<Record<string, (object: never) => KubernetesObject>>

/**
 * Converts the object to another version of its kind; returns it unchanged if it already has that version.
 */
export function convertObject(object: KubernetesObject, to: GroupVersion): KubernetesObject {
  const apiVersion = apiVersionOf(to)
  if (object.apiVersion === apiVersion) return object
  const key = `${object.apiVersion} ${apiVersion} ${object.kind}`
  const convert = conversions[key] as ((object: KubernetesObject) => KubernetesObject) | undefined
  const { kind, apiVersion: _, ...rest } = convert?.(object) ?? object
  // Field order is part of the serialized form: kind and apiVersion come first.
  return { ...(kind !== undefined && { kind }), apiVersion, ...rest }
}
