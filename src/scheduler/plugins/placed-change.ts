import type { Pod } from '#/api/generated/core/v1.ts'

/** What a change means to those who look at pods on nodes: a pod that gets its node comes, and one that ends goes. */
export function placedChange({ before, after }: { readonly before?: Pod; readonly after?: Pod }): {
  readonly was: Pod | undefined
  readonly is: Pod | undefined
} {
  // One that is gone was on a node if only because we had put it there.
  if (after === undefined) return { was: before, is: undefined }
  return {
    was: before !== undefined && isPlaced(before) ? before : undefined,
    is: isPlaced(after) ? after : undefined,
  }
}

function isPlaced({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}
