import type { JSX } from 'preact'
import { ApiError, errorText } from '../data/api-error.ts'
import type { Polled } from '../data/use-polled.ts'
import { Notice } from './notice.tsx'

export interface PolledStateProps {
  readonly polled: Polled<unknown>
  /** A path of the API server that is no resource. */
  readonly path: string
  /** What is read from it. */
  readonly what: string
}

/** What is shown beside or in place of polled data; nothing if it is current. */
export function PolledState({ polled: { data, error }, path, what }: PolledStateProps): JSX.Element | null {
  if (error instanceof ApiError && error.status === 403) {
    return (
      <Notice tone="warn" title={`Not allowed to read ${what}`} detail={error.message}>
        <p>
          The missing right is <code>get</code> on the non-resource URL <code>{path}</code>. The ClusterRole{' '}
          <code>cluster-admin</code> has it.
        </p>
      </Notice>
    )
  }
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Notice tone="idle" title={`This API server has no ${what}`} detail={`It does not serve ${path}.`} />
    )
  }
  if (error !== undefined) {
    const title = data === undefined ? `${what} cannot be read` : `${what} may be out of date`
    return <Notice tone="warn" title={title} detail={errorText(error)} />
  }
  return data === undefined ? <Notice tone="busy" title={`Reading ${what}`} /> : null
}
