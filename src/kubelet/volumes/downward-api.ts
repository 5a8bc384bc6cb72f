import type { DownwardAPIVolumeFile } from '#/api/generated/core/v1.ts'
import { podMetadataValue, resourceFieldValue } from '../downward-value.ts'
import { contentVolumePlugin, mergePayloads } from './content-volume-plugin.ts'
import { defaultFileMode, type Payload } from './payload.ts'
import type { VolumeRequest } from './volume-plugin.ts'

export const downwardApi = contentVolumePlugin({
  kind: 'downward-api',
  medium: 'Memory',
  collect: request => {
    const { items, defaultMode } = request.volume.downwardAPI ?? {}
    return downwardPayload(request, items, defaultMode)
  },
})

export function downwardPayload(
  request: VolumeRequest,
  items: readonly DownwardAPIVolumeFile[] = [],
  defaultMode = defaultFileMode,
): Promise<Payload> {
  return mergePayloads(
    items.map(item => () => {
      const { path, mode = defaultMode } = item
      return new Map([[path, { content: contentOf(request, item), encoding: 'utf8' as const, mode }]])
    }),
  )
}

function contentOf({ pod, allocatable }: VolumeRequest, item: DownwardAPIVolumeFile): string {
  const { fieldRef, resourceFieldRef } = item
  if (fieldRef) return podMetadataValue(pod, fieldRef.fieldPath)
  if (resourceFieldRef) return resourceFieldValue(pod, resourceFieldRef, { allocatable: allocatable() })
  return ''
}
