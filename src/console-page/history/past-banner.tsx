import type { JSX } from 'preact'
import { Notice } from '../components/notice.tsx'
import { formatTime } from '../format/format-time.ts'
import { ageOf } from '../format/now.ts'
import { timeOfMoment } from './rewind-bar.tsx'
import { replaceQuery } from '../router/router.ts'

/** Above everything that is not the current state. */
export function PastBanner({ at }: { readonly at: string }): JSX.Element {
  const timeMs = timeOfMoment(at)
  const moment = timeMs === undefined ? `revision ${at}` : `${formatTime(timeMs)} (${ageOf(at)} ago)`
  return (
    <Notice tone="warn" title={`Showing the state at ${moment}`} isCompact>
      <button type="button" class="button" onClick={() => replaceQuery({ at: undefined })}>
        Return to now
      </button>
    </Notice>
  )
}
