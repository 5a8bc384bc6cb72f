import type { Image, RuntimeCondition, RuntimeStatus } from '../cri.ts'
import type { Image as ImageMessage } from './image-messages.ts'
import type { StatusResponse } from './runtime-messages.ts'

/**
 * Converts CRI's runtime status. Older runtimes do not report their handlers and have only the default one.
 */
export function runtimeStatusOf({ status, runtimeHandlers }: StatusResponse): RuntimeStatus {
  const conditionOf = (type: string): RuntimeCondition => {
    const found = status?.conditions.find(condition => condition.type === type)
    return {
      isReady: found?.status ?? false,
      reason: found?.reason ?? '',
      message: found?.message ?? '',
    }
  }
  const handlers = runtimeHandlers.map(({ name, features }) => ({
    name,
    supportsUserNamespaces: features?.userNamespaces ?? false,
    supportsRecursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
  }))
  const usual = { name: '', supportsUserNamespaces: false, supportsRecursiveReadOnlyMounts: false }
  return {
    runtime: conditionOf('RuntimeReady'),
    network: conditionOf('NetworkReady'),
    handlers: handlers.length > 0 ? handlers : [usual],
  }
}

/** `pinned` lists images to treat as pinned regardless of what the runtime reports. */
export function imageOf(image: ImageMessage, pinned: ReadonlySet<string>): Image {
  return {
    id: image.id,
    tags: image.repoTags,
    digests: image.repoDigests,
    sizeBytes: Number(image.size),
    ...(image.uid && { uid: Number(image.uid.value) }),
    ...(image.username && { username: image.username }),
    isPinned: image.pinned || image.repoTags.some(tag => pinned.has(tag)),
  }
}
