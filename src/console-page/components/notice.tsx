import type { ComponentChildren, JSX } from 'preact'
import type { Tone } from '../format/tone.ts'
import { Icon } from './icon.tsx'

export interface NoticeProps {
  readonly tone: Tone
  readonly title: string
  readonly detail?: string | undefined
  /** Puts what to do beside the title. */
  readonly isCompact?: boolean
  /** What to do about it. */
  readonly children?: ComponentChildren
}

/** A message in place of content, or above it. */
export function Notice({ tone, title, detail, isCompact = false, children }: NoticeProps): JSX.Element {
  const isProblem = tone === 'bad' || tone === 'warn'
  return (
    <div
      class={`notice tone-${tone}${isCompact ? ' is-compact' : ''}`}
      role={tone === 'bad' ? 'alert' : 'status'}
    >
      {isProblem ? (
        <Icon name="alert" />
      ) : tone === 'busy' ? (
        <span class="spinner" aria-hidden="true" />
      ) : null}
      <div>
        <p class="notice-title">{title}</p>
        {detail ? <p class="notice-detail">{detail}</p> : null}
        {children}
      </div>
    </div>
  )
}
