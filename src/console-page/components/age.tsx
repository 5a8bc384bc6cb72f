import type { JSX } from 'preact'
import { ageOf } from '../format/now.ts'

/** The time since a moment, which grows while it is shown. */
export function Age({ time }: { readonly time: string | undefined }): JSX.Element {
  return (
    <time dateTime={time} title={time}>
      {ageOf(time)}
    </time>
  )
}
