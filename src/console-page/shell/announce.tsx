import { signal } from '@preact/signals'
import type { JSX } from 'preact'

const announcement = signal({ text: '', isError: false, count: 0 })

const shownMs = 6_000
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows the result of an action for a few seconds, and lets screen readers read it. */
export function announce(text: string, { isError = false } = {}): void {
  announcement.value = { text, isError, count: announcement.peek().count + 1 }
  clearTimeout(timer)
  timer = setTimeout(() => {
    announcement.value = { ...announcement.peek(), text: '' }
  }, shownMs)
}

/** The live region. It is always in the document, since regions added with their text are not read. */
export function Announcement(): JSX.Element {
  const { text, isError } = announcement.value
  return (
    <div
      class={`announcement${text ? ' is-shown' : ''}${isError ? ' tone-bad' : ''}`}
      role="status"
      aria-live="polite"
    >
      {text}
    </div>
  )
}
