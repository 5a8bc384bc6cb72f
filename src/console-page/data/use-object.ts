import { useEffect, useMemo, useState } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import { ApiError } from './api-error.ts'
import { getJson } from './api-request.ts'
import { listPath, objectPath, resourceId, type ApiResource, type ObjectKey } from './api-resource.ts'
import { useObjects } from './subscriptions.ts'
import { itemKey } from './watch-cache.ts'
import type { WatchSnapshot } from './watched-list.ts'

export interface ObjectState {
  readonly phase: WatchSnapshot<never>['phase']
  /** Undefined if the object does not exist, or is not known yet. */
  readonly object: KubernetesObject | undefined
  readonly error: Error | undefined
}

const pollMs = 10_000

/** One object, current while the component is mounted. It is polled if the user may get it, but not list it. */
export function useObject(resource: ApiResource, { namespace, name }: ObjectKey): ObjectState {
  const id = resourceId(resource)
  const query = useMemo(() => {
    const parameters = { fieldSelector: `metadata.name=${name}` }
    return { path: listPath(resource, namespace), parameters, isWatched: resource.verbs.includes('watch') }
  }, [id, namespace, name])
  const { phase, items, error } = useObjects(query)
  const isForbidden = phase === 'refused' && error instanceof ApiError && error.status === 403
  const polled = usePolledObject(isForbidden ? objectPath(resource, { namespace, name }) : undefined)
  if (isForbidden && polled) return polled
  return { phase, object: items.get(itemKey({ namespace, name })), error }
}

/** Undefined before the first answer, and without a path. */
function usePolledObject(path: string | undefined): ObjectState | undefined {
  const [state, setState] = useState<ObjectState & { readonly path: string }>()
  useEffect(() => {
    if (path === undefined) return undefined
    const ended = new AbortController()
    const read = async (): Promise<void> => {
      try {
        const object = await getJson<KubernetesObject>(path, { signal: ended.signal })
        setState({ path, phase: 'live', object, error: undefined })
      } catch (error) {
        if (ended.signal.aborted || !(error instanceof Error)) return
        const isDeleted = error instanceof ApiError && error.status === 404
        setState({ path, phase: isDeleted ? 'live' : 'refused', object: undefined, error })
      }
    }
    void read()
    const timer = setInterval(() => void read(), pollMs)
    return () => {
      ended.abort()
      clearInterval(timer)
    }
  }, [path])
  return state?.path === path ? state : undefined
}
