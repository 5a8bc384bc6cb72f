import type { JSX } from 'preact'
import { ApiError } from '../data/api-error.ts'
import type { WatchSnapshot } from '../data/watched-list.ts'
import { Notice } from './notice.tsx'

export interface ListStateProps {
  readonly phase: WatchSnapshot<never>['phase']
  readonly error: Error | undefined
  /** Name of the resource. */
  readonly what: string
  /** Empty for all. */
  readonly namespace: string
  readonly isEmpty: boolean
}

/** What a list shows beside or in place of its rows; nothing if it has rows and is current. */
export function ListState({ phase, error, what, namespace, isEmpty }: ListStateProps): JSX.Element | null {
  const where = namespace === '' ? '' : ` in namespace ${namespace}`
  if (phase === 'refused') {
    const isForbidden = error instanceof ApiError && error.status === 403
    const title = isForbidden ? `Not allowed to list ${what}${where}` : `${what} cannot be listed${where}`
    return <Notice tone="warn" title={title} detail={error?.message} />
  }
  if (phase === 'reconnecting') {
    return <Notice tone="warn" title="Reconnecting; the list may be out of date" detail={error?.message} />
  }
  if (!isEmpty) return null
  if (phase === 'loading') return <Notice tone="busy" title={`Reading ${what}`} />
  return <Notice tone="idle" title={`No ${what}${where}`} />
}
