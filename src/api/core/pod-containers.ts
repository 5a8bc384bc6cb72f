/** Iterates over all containers of a pod: init, regular and ephemeral. */
import type { Container, EphemeralContainer, PodSpec } from '../generated/core/v1.ts'
import { mapCopyOnWrite, withField } from '../copy-on-write.ts'

export interface PlacedContainer {
  readonly container: Container
  /** `spec.initContainers[0]`. */
  readonly field: string
}

/** In start order. */
export function containersOf(spec: PodSpec, field: string): PlacedContainer[] {
  return [
    ...placed(spec.initContainers, `${field}.initContainers`),
    ...placed(spec.containers, `${field}.containers`),
    ...placed(spec.ephemeralContainers, `${field}.ephemeralContainers`),
  ]
}

function placed(containers: readonly Container[] | undefined, field: string): PlacedContainer[] {
  return (containers ?? []).map((container, index) => ({ container, field: `${field}[${index}]` }))
}

/** Maps each container of the spec, including ephemeral containers. */
export function withContainers(
  spec: PodSpec,
  change: <C extends Container | EphemeralContainer>(container: C) => C,
): PodSpec {
  const init = withField(spec, 'initContainers', list => mapCopyOnWrite(list, change))
  const regular = withField(init, 'containers', list => mapCopyOnWrite(list, change))
  return withField(regular, 'ephemeralContainers', list => mapCopyOnWrite(list, change))
}

/** True for a restartable init container. */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always'
}
