import { useEffect, useState } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { ObjectHistory } from '#/api/object-history.ts'
import { ApiError, errorText } from '../data/api-error.ts'
import { getJson } from '../data/api-request.ts'
import { objectPath, resourceId, type ApiResource } from '../data/api-resource.ts'
import { isWithoutHistory } from './no-history.ts'
import { addNewer, addOlder, noVersions, type VersionList } from './version-list.ts'

export interface VersionsState extends VersionList {
  readonly phase: 'loading' | 'ready' | 'no-history' | 'failed'
  /** Start of the history that is kept; RFC 3339. */
  readonly since: string | undefined
  readonly message: string | undefined
  loadOlder(): void
}

const pageSize = 200
/** Versions that are read after a change. */
const newerSize = 20
const settleMs = 400

type State = Omit<VersionsState, 'loadOlder'>
const loading: State = { ...noVersions, phase: 'loading', since: undefined, message: undefined }

/** The versions of an object; new ones are read when it changes. */
export function useVersions(resource: ApiResource, object: KubernetesObject): VersionsState {
  const { namespace = '', name = '', resourceVersion } = object.metadata
  const [state, setState] = useState(loading)
  const path = objectPath(resource, { namespace, name })
  const read = async (query: Readonly<Record<string, string>>, add: typeof addOlder): Promise<void> => {
    try {
      const parameters = new URLSearchParams({ history: 'true', ...query })
      const page = await getJson<Partial<ObjectHistory>>(`${path}?${parameters}`)
      // Other servers ignore the parameter.
      if (page.kind !== 'ObjectHistory') {
        setState({ ...loading, phase: 'no-history' })
        return
      }
      const { items = [], metadata = {}, retainedSince } = page
      setState(before => ({
        ...before,
        ...add(before, { items, metadata }),
        phase: 'ready',
        since: retainedSince?.time,
        message: undefined,
      }))
    } catch (error) {
      // No version of the object is kept.
      const isEmpty = error instanceof ApiError && error.reason === 'NotFound'
      const phase = isEmpty ? 'ready' : isWithoutHistory(error) ? 'no-history' : 'failed'
      setState(before => ({ ...before, phase, message: isEmpty ? undefined : errorText(error) }))
    }
  }
  useEffect(() => {
    setState(loading)
    void read({ limit: String(pageSize) }, (_before, page) => addOlder(noVersions, page))
  }, [resourceId(resource), path])
  useEffect(() => {
    if (state.phase !== 'ready') return undefined
    const timer = setTimeout(() => void read({ limit: String(newerSize) }, addNewer), settleMs)
    return () => clearTimeout(timer)
  }, [resourceVersion])
  return {
    ...state,
    loadOlder: () => void read({ limit: String(pageSize), before: state.older ?? '' }, addOlder),
  }
}
