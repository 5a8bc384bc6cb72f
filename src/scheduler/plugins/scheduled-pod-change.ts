import type { Pod } from '#/api/generated/core/v1.ts'

/** Reduces a pod event to pods on nodes: a pod that gets a node is added, one that terminates is removed. */
export function scheduledPodChange({ before, after }: { readonly before?: Pod; readonly after?: Pod }): {
  readonly was: Pod | undefined
  readonly is: Pod | undefined
} {
  // A deleted pod without nodeName was assumed on a node.
  if (after === undefined) return { was: before, is: undefined }
  return {
    was: before !== undefined && isPlaced(before) ? before : undefined,
    is: isPlaced(after) ? after : undefined,
  }
}

function isPlaced({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}
