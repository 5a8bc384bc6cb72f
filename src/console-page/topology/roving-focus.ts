import { useState } from 'preact/hooks'
import { isDirection, nextInDirection, type Center } from './next-in-direction.ts'

export interface RovingFocus {
  readonly onKeyDown: (event: KeyboardEvent) => void
  readonly onFocusIn: (event: FocusEvent) => void
  /** Of an element: one of all can be reached with the tab key. */
  readonly tabIndexOf: (id: string) => number
}

/** Arrow keys move the focus between elements with `data-id`, by their positions on the screen. */
export function useRovingFocus(
  container: { readonly current: HTMLElement | null },
  firstId: string | undefined,
): RovingFocus {
  const [focused, setFocused] = useState<string>()
  const elements = (): HTMLElement[] => [
    ...(container.current?.querySelectorAll<HTMLElement>('[data-id]') ?? []),
  ]
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key, target } = event
    if (!isDirection(key) || !(target instanceof HTMLElement)) return
    if (event.ctrlKey || event.altKey || event.metaKey) return
    event.preventDefault()
    const all = elements()
    const centers = all.map(centerOf)
    const next = nextInDirection(centers, centerOf(target), key)
    all.find(({ dataset }) => dataset['id'] === next?.id)?.focus()
  }
  return {
    onKeyDown,
    onFocusIn: ({ target }) => {
      const id = target instanceof HTMLElement ? target.dataset['id'] : undefined
      if (id !== undefined) setFocused(id)
    },
    tabIndexOf: id => (id === (focused ?? firstId) ? 0 : -1),
  }
}

function centerOf(element: HTMLElement): Center {
  const { x, y, width, height } = element.getBoundingClientRect()
  return { id: element.dataset['id'] ?? '', x: x + width / 2, y: y + height / 2 }
}
