import type { JSX } from 'preact'
import type { Tone } from '../format/tone.ts'

/** A state as text with a mark, whose shape differs by tone as its colour does. */
export function StatusText({
  tone,
  text,
}: {
  readonly tone: Tone | undefined
  readonly text: string
}): JSX.Element {
  if (tone === undefined) return <>{text}</>
  return (
    <span class={`status tone-${tone}`}>
      <span class="status-mark" aria-hidden="true" />
      {text}
    </span>
  )
}
