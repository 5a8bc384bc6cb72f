/**
 * The decision of the injector: the sidecar of a pod, from a template in a ConfigMap. It is the same for the
 * webhook and the initializer.
 */
import type { ConfigMap, Container, Pod, Volume } from 'k8ts/api/core/v1'
import { annotationOf } from 'k8ts/api/metadata'
import { parse } from 'yaml'

/** Pods request the sidecar with the value `true`. */
export const injectAnnotation = 'sidecar.example.com/inject'

/** The namespace of the injector, and the ConfigMap with the template. */
export const templateKey = { namespace: 'sidecar-injector', name: 'sidecar' }

/** Parts of a pod that are added to others. */
export interface SidecarTemplate {
  /** A sidecar container of Kubernetes 1.29 and newer is an init container with `restartPolicy: Always`. */
  readonly initContainers: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes: readonly Volume[]
}

/** Throws Error if the ConfigMap has no template. */
export function readTemplate({ metadata, data }: ConfigMap): SidecarTemplate {
  const text = data?.['template']
  if (text === undefined)
    throw new Error(`ConfigMap ${metadata.namespace}/${metadata.name} has no key template`)
  const {
    initContainers = [],
    containers = [],
    volumes = [],
  } = (parse(text) ?? {}) as Partial<SidecarTemplate>
  return { initContainers, containers, volumes }
}

/** The parts of the template that the pod lacks; undefined if it requests none, or has all. */
export function planSidecar(pod: Pod, template: SidecarTemplate): SidecarTemplate | undefined {
  if (annotationOf(pod, injectAnnotation) !== 'true') return undefined
  const { initContainers = [], containers = [], volumes = [] } = pod.spec ?? {}
  const missing = {
    initContainers: withoutNames(template.initContainers, initContainers),
    containers: withoutNames(template.containers, containers),
    volumes: withoutNames(template.volumes, volumes),
  }
  return Object.values(missing).every(parts => parts.length === 0) ? undefined : missing
}

function withoutNames<T extends Named>(parts: readonly T[], existing: readonly Named[]): readonly T[] {
  const names = new Set(existing.map(({ name }) => name))
  return parts.filter(({ name }) => !names.has(name))
}

interface Named {
  readonly name: string
}

/** Sidecars start before the pod's own init containers, which may need them. */
export function injectSidecar(pod: Pod, sidecar: SidecarTemplate): Pod {
  const { initContainers = [], containers = [], volumes = [], ...spec } = pod.spec ?? {}
  const allInit = [...sidecar.initContainers, ...initContainers]
  const allVolumes = [...volumes, ...sidecar.volumes]
  return {
    ...pod,
    spec: {
      ...spec,
      containers: [...containers, ...sidecar.containers],
      ...(allInit.length > 0 && { initContainers: allInit }),
      ...(allVolumes.length > 0 && { volumes: allVolumes }),
    },
  }
}
