/** An informer in `/debug/components`. */
export interface InformerState {
  readonly component: string
  readonly apiVersion: string
  readonly resource: string
  readonly selection: Readonly<Record<string, unknown>>
  readonly objects: number
  /** Absent before the first list. */
  readonly resourceVersion?: string
  /** Revision of the last change of the resource. */
  readonly lastChange: number
}

/**
 * The number of revisions between an informer and the last change of its resource. Undefined if it cannot be known: an
 * informer with a selection is not told of changes of other objects.
 */
export function informerLag({ selection, resourceVersion, lastChange }: InformerState): number | undefined {
  if (resourceVersion === undefined) return undefined
  const lag = Math.max(0, lastChange - Number(resourceVersion))
  const { namespace, labelSelector, fieldSelector } = selection
  return lag > 0 && (namespace || labelSelector || fieldSelector) ? undefined : lag
}

/** `kube-public, metadata.name=cluster-info`; empty if it selects all objects. */
export function selectionText({ selection }: Pick<InformerState, 'selection'>): string {
  const { namespace, labelSelector, fieldSelector, metadataOnly } = selection
  const parts = [namespace, labelSelector, fieldSelector].filter(
    part => typeof part === 'string' && part !== '',
  )
  return [...parts, ...(metadataOnly === true ? ['metadata only'] : [])].join(', ')
}
